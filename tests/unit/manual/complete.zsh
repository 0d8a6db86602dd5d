# SPDX-License-Identifier: Apache-2.0
# complete.zsh FOLDER LINE...: print what an interactive zsh shows when Tab is pressed after each
# LINE, with the completion in FOLDER. The shell prints READY when its line editor can take
# keys, and DONE for the key that follows Tab; the quotes keep its echo from having these words.
zmodload zsh/zpty || exit
TERM=dumb zpty shell zsh -f -i
zpty -w shell "PROMPT=; stty cols 150 rows 200; LISTMAX=1000; fpath=($1 \$fpath)"
zpty -w shell 'autoload -Uz compinit; compinit -u -D'
# Otherwise the list would not be shown while all pids of the machine begin with the same digit.
zpty -w shell 'unsetopt list_ambiguous'
zpty -w shell "finish() { BUFFER=; print -n DO''NE }; zle -N finish; bindkey '^X' finish"
zpty -w shell "zle-line-init() print -n RE''ADY; zle -N zle-line-init"
zpty -r shell shown '*READY*' || exit
for line in "${@[2,-1]}"; do
	zpty -n -w shell "$line"$'\t\x18'
	zpty -r shell shown '*DONE*' || exit
	print -r -- "[$line] $shown"
done
zpty -d shell
