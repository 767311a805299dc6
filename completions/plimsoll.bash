# SPDX-License-Identifier: Apache-2.0
# Completion of plimsoll for bash. Needs nothing but bash itself.

_plimsoll() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'run measure doctor help --help --version' -- "$word")
		return
	fi
	# bash takes "=" for a word of its own.
	[[ $word == = ]] && word=
	[[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
	case $command:$before in
	run:--floor) mapfile -t COMPREPLY < <(compgen -W 'process container kernel vm' -- "$word") ;;
	run:--wall | measure:--wall) mapfile -t COMPREPLY < <(compgen -W 'auto microvm container process' -- "$word") ;;
	run:--walls | measure:--walls) mapfile -t COMPREPLY < <(compgen -W 'microvm container process microvm,container,process' -- "$word") ;;
	*:--microvm-flavours) mapfile -t COMPREPLY < <(compgen -W 'vmx svm pvm vmx,svm vmx,svm,pvm' -- "$word") ;;
	run:--timeout) mapfile -t COMPREPLY < <(compgen -W '500ms 1s 5s 30s 1m 5m' -- "$word") ;;
	run:--memory) mapfile -t COMPREPLY < <(compgen -W '16MiB 64MiB 256MiB 1GiB 4GiB' -- "$word") ;;
	run:--max-output) mapfile -t COMPREPLY < <(compgen -W '64KiB 1MiB 8MiB' -- "$word") ;;
	run:--status-fd | run:-e) ;;
	help:*) mapfile -t COMPREPLY < <(compgen -W 'run measure doctor' -- "$word") ;;
	run:*)
		if [[ $word == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W '--floor --wall --walls --microvm-flavours --timeout --memory --max-output --json --evidence
				--status-fd -v -e --help' -- "$word")
		else
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
		fi
		;;
	measure:*) mapfile -t COMPREPLY < <(compgen -W '--wall --walls --microvm-flavours --json --help' -- "$word") ;;
	doctor:*) mapfile -t COMPREPLY < <(compgen -W '--json --microvm-flavours --help' -- "$word") ;;
	esac
}

complete -F _plimsoll plimsoll
