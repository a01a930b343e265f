import { Affinity, Constraint, Spread, SpreadTarget } from '@reeve/contract'
import { toText } from '@reeve/hcl'
import {
  setDefault,
  setFrom,
  reportAt,
  takePseudoField,
  type RecordBuilder,
} from '../build/record-builder.ts'
import { bool, int, many, mapBlock, string } from './block-mapping.ts'

/** `version = ">= 1.2"` is short for an operator with a value. */
const SHORTHANDS = {
  version: string(
    '@version',
    'Shorthand for `operator = "version"` and its value: `">= 1.2, < 2.0"`.',
  ),
  semver: string('@semver', 'Shorthand for `operator = "semver"`: strict semantic versions.'),
  regexp: string('@regexp', 'Shorthand for `operator = "regexp"`: an RE2 pattern, not anchored.'),
  set_contains: string(
    '@set_contains',
    'Shorthand for `operator = "set_contains"`: the comma-separated attribute has all of these ' +
      'values.',
  ),
  set_contains_any: string(
    '@set_contains_any',
    'Shorthand for `operator = "set_contains_any"`: it has at least one of them.',
  ),
  set_contains_all: string(
    '@set_contains_all',
    'Shorthand for `operator = "set_contains_all"`, the same as `set_contains`.',
  ),
  is_set: string(
    '@is_set',
    'Attribute that must be present: `is_set = "${meta.rack}"`, or `true` beside `attribute`.',
  ),
  is_not_set: string('@is_not_set', 'Attribute that must be absent.'),
}

const SIDES = {
  attribute: string(
    'LTarget',
    'Property of the node, such as `${attr.kernel.name}`, `${node.datacenter}` or `${meta.rack}`.',
  ),
  operator: string(
    'Operand',
    '`=`, `!=`, `>`, `>=`, `<`, `<=`, or one of the shorthands below by name.',
  ),
  value: string('RTarget', 'Value to compare with. At most 65,536 characters.'),
} as const

export const CONSTRAINT = mapBlock(Constraint, {
  attributes: {
    ...SIDES,
    ...SHORTHANDS,
    distinct_hosts: bool(
      '@distinct_hosts',
      'Places each allocation of the job or group on a node of its own. Not on tasks.',
    ),
    distinct_property: string(
      '@distinct_property',
      'Places at most `value` (default 1) allocations on nodes that share a value of this ' +
        'attribute. Not on tasks.',
    ),
  },
  finish: expandShorthand,
})

const AFFINITY = mapBlock(Affinity, {
  attributes: {
    ...SIDES,
    ...SHORTHANDS,
    weight: int('Weight', '-100 to 100, not 0. Negative weights repel.'),
  },
  finish: expandShorthand,
})

const SPREAD_TARGET = mapBlock(SpreadTarget, {
  label: 'Value',
  attributes: {
    percent: int(
      'Percent',
      'Share of the allocations for this value, 0 to 100. All targets together: at most 100.',
    ),
  },
})

const SPREAD = mapBlock(Spread, {
  attributes: {
    attribute: string('Attribute', 'Required. Property of nodes to spread over.'),
    weight: int('Weight', '1 to 100. Weight relative to the other spreads of the group.'),
  },
  blocks: { target: many('SpreadTarget', SPREAD_TARGET) },
})

/** The blocks that constrain, prefer and spread placements. */
export const NODE_RULES = {
  constraint: many('Constraints', CONSTRAINT),
  affinity: many('Affinities', AFFINITY),
} as const

export const PLACEMENT_RULES = { ...NODE_RULES, spread: many('Spreads', SPREAD) } as const

/** The argument that receives the value of each shorthand. */
const SHORTHAND_OPERANDS = {
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

/** Replaces the shorthand of a rule by its operator; equality is the default. */
function expandShorthand(draft: RecordBuilder): void {
  replaceShorthand(draft)
  setDefault(draft, 'Operand', '=')
}

function replaceShorthand(draft: RecordBuilder): void {
  let chosen: string | undefined
  for (const [name, side] of Object.entries(SHORTHAND_OPERANDS)) {
    const from = `@${name}` as const
    const value = toText(takePseudoField(draft, from) ?? null)
    if (value === undefined) continue
    if (chosen !== undefined) return reportAt(draft, from, conflict(chosen, name))
    chosen = name
    if (side !== undefined) setFrom(draft, side, { value, from })
    setFrom(draft, 'Operand', { value: operandOf(draft, { name, value }), from })
  }
}

function conflict(first: string, second: string) {
  const detail = `"${first}" and "${second}" are two operators; a block has one.`
  return { summary: 'Conflicting operators', detail }
}

/**
 * `is_set = "${attr.x}"` names the attribute. With a bool, `attribute` names it, and false negates
 * the operator.
 */
function operandOf(
  draft: RecordBuilder,
  { name, value }: { readonly name: string; readonly value: string },
): string {
  if (name !== 'is_set' && name !== 'is_not_set') return name
  if (value === 'true') return name
  if (value === 'false') return name === 'is_set' ? 'is_not_set' : 'is_set'
  if (!draft.values.has('LTarget')) setFrom(draft, 'LTarget', { value, from: `@${name}` })
  return name
}
