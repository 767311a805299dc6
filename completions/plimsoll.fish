# SPDX-License-Identifier: Apache-2.0
# Completion of plimsoll for fish.

complete -c plimsoll -f
complete -c plimsoll -n __fish_use_subcommand -a run -d 'run a program behind a measured wall'
complete -c plimsoll -n __fish_use_subcommand -a measure -d 'open a sandbox, show what is measured, run nothing'
complete -c plimsoll -n __fish_use_subcommand -a doctor -d 'what this machine offers'
complete -c plimsoll -n __fish_use_subcommand -a help -d 'more about a command'
complete -c plimsoll -n __fish_use_subcommand -l version -d 'show the version'
complete -c plimsoll -l help -d 'show help'

complete -c plimsoll -n '__fish_seen_subcommand_from run' -F
complete -c plimsoll -n '__fish_seen_subcommand_from run' -l floor -x -a 'process container kernel vm' -d 'refuse to run below this tier'
complete -c plimsoll -n '__fish_seen_subcommand_from run' -l timeout -x -a '500ms 1s 5s 30s 1m 5m' -d 'end it after this long'
complete -c plimsoll -n '__fish_seen_subcommand_from run' -l memory -x -a '16MiB 64MiB 256MiB 1GiB 4GiB' -d 'give it this much'
complete -c plimsoll -n '__fish_seen_subcommand_from run' -l max-output -x -a '64KiB 1MiB 8MiB' -d 'keep this much of each stream'
complete -c plimsoll -n '__fish_seen_subcommand_from run' -l evidence -d 'show every fact'
complete -c plimsoll -n '__fish_seen_subcommand_from run' -l status-fd -x -d 'write the status to this descriptor'
complete -c plimsoll -n '__fish_seen_subcommand_from run' -s v -d 'say where it ran'
complete -c plimsoll -n '__fish_seen_subcommand_from run' -s e -x -d 'run this text'
complete -c plimsoll -n '__fish_seen_subcommand_from run measure' -l wall -x -a 'auto microvm container process' -d 'which wall'
complete -c plimsoll -n '__fish_seen_subcommand_from run measure' -l walls -x -a 'microvm container process microvm,container,process' -d 'walls that may be used'
complete -c plimsoll -n '__fish_seen_subcommand_from run measure doctor' -l microvm-flavours -x -a 'vmx svm pvm vmx,svm vmx,svm,pvm' -d 'kinds of KVM that the microvm wall may use'
complete -c plimsoll -n '__fish_seen_subcommand_from run measure doctor' -l json -d 'as JSON'
complete -c plimsoll -n '__fish_seen_subcommand_from help' -a 'run measure doctor'
