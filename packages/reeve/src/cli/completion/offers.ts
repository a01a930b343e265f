import type { ArgumentSpec, CompletionKind, FlagSpec } from '../command.ts'

/** A completion and its description. */
export interface Completion {
  readonly text: string
  readonly description: string
}

/** The part of a command specification that completion uses. */
export interface CompletableCommand {
  readonly path: string
  readonly summary: string
  readonly args?: readonly ArgumentSpec[]
  readonly flags?: readonly FlagSpec[]
}

interface CommandTable {
  readonly commands: readonly CompletableCommand[]
  readonly groups: Readonly<Record<string, string>>
}

interface CompletionResult {
  readonly completions: readonly Completion[]
  /** The kind of objects to look up on the server, if any. */
  readonly completes: CompletionKind | undefined
  /** The unfinished word. */
  readonly typed: string
}

/** Returns the completions of the last word. */
export function completionsFor(words: readonly string[], commands: CommandTable): CompletionResult {
  const typed = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  // The longest path wins: `agent` is both a command and the group of `agent monitor`.
  const [command] = commands.commands
    .filter(({ path }) => isPathOf(path, before))
    .toSorted((a, b) => b.path.length - a.path.length)
  if (command === undefined) {
    return {
      completions: withPrefix(subcommandCompletions(before, commands), typed),
      completes: undefined,
      typed,
    }
  }
  const rest = before.slice(command.path.split(' ').length)
  const found = completeArguments(command, rest, typed)
  const members =
    rest.length === 0 ? withPrefix(subcommandCompletions(before, commands), typed) : []
  const subcommands = members.filter(({ text }) => text !== '')
  return { ...found, completions: [...subcommands, ...found.completions], typed }
}

function isPathOf(path: string, words: readonly string[]): boolean {
  const parts = path.split(' ')
  return parts.every((part, at) => part === words[at])
}

function subcommandCompletions(
  before: readonly string[],
  { commands, groups }: CommandTable,
): readonly Completion[] {
  const offers = new Map<string, Completion>()
  for (const { path, summary } of commands) {
    const words = path.split(' ')
    if (!before.every((word, at) => word === words[at])) continue
    const text = words[before.length] ?? ''
    const isWhole = words.length === before.length + 1
    const group = groups[words.slice(0, before.length + 1).join(' ')] ?? ''
    if (!offers.has(text)) offers.set(text, { text, description: isWhole ? summary : group })
  }
  return [...offers.values()]
}

type ArgumentCompletions = Omit<CompletionResult, 'typed'>

function completeArguments(
  { args = [], flags = [] }: CompletableCommand,
  words: readonly string[],
  typed: string,
): ArgumentCompletions {
  const last = words.at(-1) ?? ''
  const pendingFlag = flags.find((flag) => takesValue(flag) && namesOf(flag).includes(last))
  if (pendingFlag !== undefined) return { completions: [], completes: pendingFlag.completionKind }
  if (typed.startsWith('-')) {
    const offers = flags.flatMap((flag) =>
      namesOf(flag).map((text) => ({ text, description: flag.help })),
    )
    return { completions: withPrefix(offers, typed), completes: undefined }
  }
  const position = countOperands(words, flags)
  const argument = args[Math.min(position, args.length - 1)]
  const isThere = position < args.length || argument?.usage.includes('...') === true
  return { completions: [], completes: isThere ? argument?.completionKind : undefined }
}

/** Counts the positional arguments: words that are neither flags nor their values. */
function countOperands(words: readonly string[], flags: readonly FlagSpec[]): number {
  return words.filter((word, at) => {
    if (word.startsWith('-')) return false
    const before = words[at - 1] ?? ''
    return !flags.some((flag) => takesValue(flag) && namesOf(flag).includes(before))
  }).length
}

function takesValue({ usage }: FlagSpec): boolean {
  return usage.includes('<')
}

/** `-f, --follow` gives both. */
function namesOf({ usage }: FlagSpec): readonly string[] {
  return usage.replace(/ <.*/, '').split(', ')
}

function withPrefix(offers: readonly Completion[], typed: string): readonly Completion[] {
  return offers.filter(({ text }) => text.startsWith(typed))
}
