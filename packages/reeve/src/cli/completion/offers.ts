import type { ArgumentSpec, Completes, FlagSpec } from '../command.ts'

/** What is offered, and what it is. */
export interface Offer {
  readonly text: string
  readonly says: string
}

/** The part of a command that completion looks at. */
export interface Completable {
  readonly path: string
  readonly summary: string
  readonly args?: readonly ArgumentSpec[]
  readonly flags?: readonly FlagSpec[]
}

export interface KnownCommands {
  readonly known: readonly Completable[]
  readonly groups: Readonly<Record<string, string>>
}

interface Offers {
  readonly offers: readonly Offer[]
  /** What a server is asked for besides. */
  readonly completes: Completes | undefined
  /** The unfinished word. */
  readonly typed: string
}

/** What could stand in the place of the last word. */
export function offersFor(line: readonly string[], commands: KnownCommands): Offers {
  const typed = line.at(-1) ?? ''
  const before = line.slice(0, -1)
  // The longest path: `agent` is a command and the group of `agent monitor`.
  const [command] = commands.known
    .filter(({ path }) => isPathOf(path, before))
    .toSorted((a, b) => b.path.length - a.path.length)
  if (command === undefined) {
    return { offers: begun(nextWords(before, commands), typed), completes: undefined, typed }
  }
  const rest = before.slice(command.path.split(' ').length)
  const found = inside(command, rest, typed)
  const members = rest.length === 0 ? begun(nextWords(before, commands), typed) : []
  const below = members.filter(({ text }) => text !== '')
  return { ...found, offers: [...below, ...found.offers], typed }
}

function isPathOf(path: string, words: readonly string[]): boolean {
  const parts = path.split(' ')
  return parts.every((part, at) => part === words[at])
}

function nextWords(before: readonly string[], { known, groups }: KnownCommands): readonly Offer[] {
  const offers = new Map<string, Offer>()
  for (const { path, summary } of known) {
    const words = path.split(' ')
    if (!before.every((word, at) => word === words[at])) continue
    const text = words[before.length] ?? ''
    const isWhole = words.length === before.length + 1
    const group = groups[words.slice(0, before.length + 1).join(' ')] ?? ''
    if (!offers.has(text)) offers.set(text, { text, says: isWhole ? summary : group })
  }
  return [...offers.values()]
}

type Inside = Omit<Offers, 'typed'>

function inside(
  { args = [], flags = [] }: Completable,
  words: readonly string[],
  typed: string,
): Inside {
  const last = words.at(-1) ?? ''
  const open = flags.find((flag) => takesValue(flag) && namesOf(flag).includes(last))
  if (open !== undefined) return { offers: [], completes: open.completes }
  if (typed.startsWith('-')) {
    const offers = flags.flatMap((flag) => namesOf(flag).map((text) => ({ text, says: flag.help })))
    return { offers: begun(offers, typed), completes: undefined }
  }
  const place = operandsOf(words, flags)
  const argument = args[Math.min(place, args.length - 1)]
  const isThere = place < args.length || argument?.usage.includes('...') === true
  return { offers: [], completes: isThere ? argument?.completes : undefined }
}

/** How many arguments stand there already: neither flags nor their values. */
function operandsOf(words: readonly string[], flags: readonly FlagSpec[]): number {
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

function begun(offers: readonly Offer[], typed: string): readonly Offer[] {
  return offers.filter(({ text }) => text.startsWith(typed))
}
