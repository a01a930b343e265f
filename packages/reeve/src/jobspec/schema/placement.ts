import { Affinity, Constraint, Spread, SpreadTarget } from '@reeve/contract'
import { toText } from '@reeve/hcl'
import { put, refuse, take, type Draft } from '../build/draft.ts'
import { bool, int, many, tableOf, text } from './table.ts'

/** `version = ">= 1.2"` stands for an operator and its value. */
const SHORTHANDS = {
  version: text('@version'),
  semver: text('@semver'),
  regexp: text('@regexp'),
  set_contains: text('@set_contains'),
  set_contains_any: text('@set_contains_any'),
  set_contains_all: text('@set_contains_all'),
  is_set: text('@is_set'),
  is_not_set: text('@is_not_set'),
}

const SIDES = {
  attribute: text('LTarget'),
  operator: text('Operand'),
  value: text('RTarget'),
} as const

const CONSTRAINT = tableOf(Constraint, {
  attributes: {
    ...SIDES,
    ...SHORTHANDS,
    distinct_hosts: bool('@distinct_hosts'),
    distinct_property: text('@distinct_property'),
  },
  finish: spellOut,
})

const AFFINITY = tableOf(Affinity, {
  attributes: { ...SIDES, ...SHORTHANDS, weight: int('Weight') },
  finish: spellOut,
})

const TARGET = tableOf(SpreadTarget, {
  label: 'Value',
  attributes: { percent: int('Percent') },
})

const SPREAD = tableOf(Spread, {
  attributes: { attribute: text('Attribute'), weight: int('Weight') },
  blocks: { target: many('SpreadTarget', TARGET) },
})

/** The blocks that say where something may, should and should evenly be placed. */
export const NODE_RULES = {
  constraint: many('Constraints', CONSTRAINT),
  affinity: many('Affinities', AFFINITY),
} as const

export const PLACEMENT_RULES = { ...NODE_RULES, spread: many('Spreads', SPREAD) } as const

/** Where the text of each shorthand goes. */
const SIDE_OF = {
  version: 'RTarget',
  semver: 'RTarget',
  regexp: 'RTarget',
  set_contains: 'RTarget',
  set_contains_any: 'RTarget',
  set_contains_all: 'RTarget',
  is_set: undefined,
  is_not_set: undefined,
  distinct_hosts: 'RTarget',
  distinct_property: 'LTarget',
} as const

function spellOut(draft: Draft): void {
  let chosen: string | undefined
  for (const [name, side] of Object.entries(SIDE_OF)) {
    const from = `@${name}` as const
    const value = toText(take(draft, from) ?? null)
    if (value === undefined) continue
    if (chosen !== undefined) return refuse(draft, from, conflict(chosen, name))
    chosen = name
    if (side !== undefined) put(draft, side, { value, from })
    put(draft, 'Operand', { value: operandOf(draft, { name, value }), from })
  }
}

function conflict(first: string, second: string) {
  const detail = `"${first}" and "${second}" are two operators; a block has one.`
  return { summary: 'Conflicting operators', detail }
}

/**
 * `is_set = "${attr.x}"` names the attribute; with a bool the attribute has its own argument, and
 * false turns the operator round.
 */
function operandOf(
  draft: Draft,
  { name, value }: { readonly name: string; readonly value: string },
): string {
  if (name !== 'is_set' && name !== 'is_not_set') return name
  if (value === 'true') return name
  if (value === 'false') return name === 'is_set' ? 'is_not_set' : 'is_set'
  if (!draft.values.has('LTarget')) put(draft, 'LTarget', { value, from: `@${name}` })
  return name
}
