/** Seeded random mutations of text, similar to typing errors or hostile input. */

/** Returns random integers below a bound. Equal seeds give equal sequences. */
export interface RandomSource {
  below(bound: number): number
}

export function seededRandom(seed: number): RandomSource {
  let state = seed >>> 0 || 1
  return {
    below(bound) {
      // Xorshift: fast, and its low bits are as random as its high bits.
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      return (state >>> 0) % Math.max(1, bound)
    },
  }
}

export function pick<T>(draw: RandomSource, list: readonly T[]): T {
  const chosen = list[draw.below(list.length)]
  if (chosen === undefined) throw new Error('nothing to choose from')
  return chosen
}

/**
 * Applies one to six mutations. Other texts of the corpus supply parts. Truncated to `lengthMax`.
 */
export function mutate(texts: readonly string[], draw: RandomSource, lengthMax: number): string {
  let text = pick(draw, texts)
  // Few mutations are more likely than many: nearly valid input reaches more code.
  for (let left = 1 + draw.below(1 + draw.below(6)); left > 0; left--) {
    const change = pick(draw, MUTATIONS)
    text = change({ text, other: pick(draw, texts), draw }).slice(0, lengthMax)
  }
  return text
}

interface MutationInput {
  readonly text: string
  readonly other: string
  readonly draw: RandomSource
}

type Mutation = (material: MutationInput) => string

const TOKEN = /\s+|[\p{L}\p{N}_-]+|./gsu

/** Keywords and delimiters of the fuzzed languages. */
const DICTIONARY = [
  '{ } [ ] ( ) " ${ %{ ~} $${ << = == => ? : , . ... * ! - + / % && || # // /* */ \\ \\u \\n',
  '0 1 -1 1e9 1e400 0x10 null true false for in if else endif endfor var.x local.x attr.x',
  'job group task variable locals dynamic content for_each labels iterator config env meta',
  'and or xor not in contains is matches empty defined func rule when case return append( length(',
  'any all filter map as param import undefined some every with default package contains := count(',
  'range(1000) file("x") upper( jsondecode( try( toset( [for {for "${ }" __proto__ each.key',
]
  .flatMap((line) => line.split(' '))
  .concat('<<-E\nE\n')

const MUTATIONS: readonly Mutation[] = [
  flipCharacters,
  truncate,
  dropPart,
  repeatPart,
  splice,
  swapTokens,
  replaceToken,
  insertWord,
  nestDeeply,
  changeLineEnds,
]

function flipCharacters({ text, draw }: MutationInput): string {
  const at = draw.below(text.length)
  const code = draw.below(4) === 0 ? draw.below(0x1_00_00) : draw.below(128)
  return `${text.slice(0, at)}${String.fromCharCode(code)}${text.slice(at + 1)}`
}

function truncate({ text, draw }: MutationInput): string {
  return text.slice(0, draw.below(text.length + 1))
}

function dropPart({ text, draw }: MutationInput): string {
  const { start, end } = part(text, draw)
  return text.slice(0, start) + text.slice(end)
}

function repeatPart({ text, draw }: MutationInput): string {
  const { start, end } = part(text, draw)
  return text.slice(0, end) + text.slice(start, end).repeat(1 + draw.below(30)) + text.slice(end)
}

function splice({ text, other, draw }: MutationInput): string {
  const { start, end } = part(other, draw)
  const at = draw.below(text.length + 1)
  return text.slice(0, at) + other.slice(start, end) + text.slice(at)
}

function swapTokens({ text, draw }: MutationInput): string {
  const tokens = tokensOf(text)
  const [first, second] = [draw.below(tokens.length), draw.below(tokens.length)]
  const swapped = tokens.with(first, tokens[second] ?? '').with(second, tokens[first] ?? '')
  return swapped.join('')
}

function replaceToken({ text, other, draw }: MutationInput): string {
  const tokens = tokensOf(text)
  return tokens.with(draw.below(tokens.length), pick(draw, tokensOf(other))).join('')
}

function insertWord({ text, draw }: MutationInput): string {
  const at = draw.below(text.length + 1)
  return `${text.slice(0, at)} ${pick(draw, DICTIONARY)} ${text.slice(at)}`
}

function nestDeeply({ text, draw }: MutationInput): string {
  const at = draw.below(text.length + 1)
  const [open, close] = pick(draw, NESTS)
  const count = pick(draw, [3, 50, 190, 210, 5_000])
  const closed = draw.below(3) === 0 ? 0 : count
  return text.slice(0, at) + open.repeat(count) + close.repeat(closed) + text.slice(at)
}

const NESTS = [
  ['[', ']'],
  ['{', '}'],
  ['(', ')'],
  ['{a=', '}'],
  ['{"a":', '}'],
  ['"${', '}"'],
  ['a {\n', '}\n'],
  ['group "g" {\n', '}\n'],
  ['%{if true}', '%{endif}'],
  ['!', ''],
  ['-', ''],
  ['true ? ', ': 1'],
  ['upper(', ')'],
  ['[for x in [1] : ', ']'],
  ['.a', ''],
  ['not ', ''],
  ['rule { ', ' }'],
  ['func() { return ', ' }'],
  ['any [1] as x { ', ' }'],
  ['if true {\n', '\n}'],
  ['{x | x := ', '}'],
  ['a + ', '1'],
  ['[0]', ''],
] as const

function changeLineEnds({ text, draw }: MutationInput): string {
  return text.replaceAll('\n', pick(draw, ['\r\n', '\r', ' ', '\n\n', '\u2028']))
}

function part(text: string, draw: RandomSource): { readonly start: number; readonly end: number } {
  const start = draw.below(text.length)
  return { start, end: start + 1 + draw.below(Math.min(400, text.length)) }
}

/** Returns at least one token, so that `pick` always finds one. */
function tokensOf(text: string): readonly string[] {
  return text.match(TOKEN) ?? ['']
}
