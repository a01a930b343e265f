import * as t from './shared-schemas.ts'

/** Filters the nodes on which a job, group or task may run. */
export const Constraint = t.Named('Constraint', 'A rule that a node must meet.', {
  LTarget: t.String({ description: 'Left side, such as `${attr.kernel.name}`.' }),
  RTarget: t.String({ description: 'Right side; what it means depends on `Operand`.' }),
  Operand: t.String({ description: 'How the sides are compared.', default: '=' }),
})
export type Constraint = t.Infer<typeof Constraint>

/** The operands a constraint may use. */
export const CONSTRAINT_OPERANDS = [
  '=',
  '==',
  'is',
  '!=',
  'not',
  '<',
  '<=',
  '>',
  '>=',
  'regexp',
  'version',
  'semver',
  'set_contains',
  'set_contains_all',
  'set_contains_any',
  'is_set',
  'is_not_set',
  'distinct_hosts',
  'distinct_property',
] as const
export type ConstraintOperand = (typeof CONSTRAINT_OPERANDS)[number]

export const Affinity = t.Named('Affinity', 'A preference for nodes that meet a rule.', {
  LTarget: t.String(),
  RTarget: t.String(),
  Operand: t.String({ default: '=' }),
  Weight: t.Integer({ description: 'From -100 (avoid) to 100 (prefer), never 0.', default: 50 }),
})
export type Affinity = t.Infer<typeof Affinity>

export const SpreadTarget = t.Named('SpreadTarget', {
  Value: t.String({ description: 'Value of the attribute.' }),
  Percent: t.Integer({ description: 'Share of the allocations it should get.' }),
})
export type SpreadTarget = t.Infer<typeof SpreadTarget>

export const Spread = t.Named('Spread', 'Spreads allocations over the values of an attribute.', {
  Attribute: t.String({ description: 'Attribute over whose values to spread.' }),
  Weight: t.Integer({ description: 'From 1 to 100, against other spreads.', default: 50 }),
  SpreadTarget: t.Nullable(t.Array(SpreadTarget)),
})
export type Spread = t.Infer<typeof Spread>
