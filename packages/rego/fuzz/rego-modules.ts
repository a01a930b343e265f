import { pick, type RandomSource } from '@reeve/kit/fuzz/mutate.ts'

/**
 * Random modules of partial sets and complete rules. A rule is a paragraph and a literal a line, so
 * that both can be put into another order, which must not change what the module means.
 */
export function makeModule(draw: RandomSource): string {
  const rules = Array.from({ length: 2 + draw.below(4) }, (_, index) => ruleOf(draw, index))
  const more = Array.from({ length: rules.length + 3 }, (_, index) => `c${index} if {`)
    .filter((head) => !rules.some((rule) => rule.startsWith(head)))
    .map((head) => `${head}\n\tinput.list[1]\n}`)
  return `package r\n\n${[...rules, ...more].join('\n\n')}\n`
}

function ruleOf(draw: RandomSource, index: number): string {
  const literals = Array.from({ length: 1 + draw.below(3) }, () => `\t${literalOf(draw, index)}`)
  const head =
    draw.below(3) === 0 ? `c${index} if {` : `s${draw.below(3)} contains [${index}, x] if {`
  return [head, `\tsome x in ${collectionOf(draw)}`, ...literals, '}'].join('\n')
}

/** Rules only use rules that come later in the numbering: nothing is recursive. */
function literalOf(draw: RandomSource, index: number): string {
  return pick(draw, [
    () => `x ${pick(draw, ['==', '!=', '<', '>=', '>'])} ${termOf(draw)}`,
    () => `not x == ${termOf(draw)}`,
    () => `x in ${collectionOf(draw)}`,
    () => `count(${collectionOf(draw)}) > ${draw.below(3)}`,
    () => `is_number(x)`,
    () => `every y in ${collectionOf(draw)} { y != ${termOf(draw)} }`,
    () => `startswith(sprintf("%v", [x]), ${pick(draw, ['"1"', '"a"', '""'])})`,
    () => `not c${index + 1 + draw.below(3)}`,
    () => `object.get(input.map, "a", ${termOf(draw)}) == ${termOf(draw)}`,
    () => `sum([y | some y in input.list; is_number(y)]) > ${draw.below(8)}`,
  ])()
}

function collectionOf(draw: RandomSource): string {
  return pick(draw, [
    'input.list',
    'input.map',
    '[1, 2, 3]',
    '{"a", "b", 1}',
    '{x | some x in input.list}',
    'object.keys(input.map)',
    'input.blocked',
    'numbers.range(0, 3)',
  ])
}

function termOf(draw: RandomSource): string {
  return pick(draw, [
    '1',
    '2',
    '"a"',
    'null',
    'true',
    '[1]',
    'input.list[0]',
    'input.missing',
    '1.5',
  ])
}

export function shuffledModule(text: string, draw: RandomSource): string {
  const [head = '', ...rules] = text.trimEnd().split('\n\n')
  const mixed = shuffled(rules, draw).map((rule) => {
    const lines = rule.split('\n')
    const [first = '', last = ''] = [lines[0], lines.at(-1)]
    return [first, ...shuffled(lines.slice(1, -1), draw), last].join('\n')
  })
  return `${[head, ...mixed].join('\n\n')}\n`
}

function shuffled<T>(items: readonly T[], draw: RandomSource): readonly T[] {
  const left = [...items]
  const mixed: T[] = []
  while (left.length > 0) mixed.push(...left.splice(draw.below(left.length), 1))
  return mixed
}
