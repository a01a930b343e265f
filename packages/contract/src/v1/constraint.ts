import { Type } from 'typebox'
import { Named, Nullable, type Infer } from '../schema.ts'

/** Filters the nodes on which a job, group or task may run. */
export const Constraint = Named('Constraint', 'A rule that a node must meet.', {
  LTarget: Type.String({ description: 'Left side, such as `${attr.kernel.name}`.' }),
  RTarget: Type.String({ description: 'Right side; what it means depends on `Operand`.' }),
  Operand: Type.String({ description: 'How the sides are compared.', default: '=' }),
})
export type Constraint = Infer<typeof Constraint>

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

export const Affinity = Named('Affinity', 'A preference for nodes that meet a rule.', {
  LTarget: Type.String(),
  RTarget: Type.String(),
  Operand: Type.String({ default: '=' }),
  Weight: Type.Integer({ description: 'From -100 (avoid) to 100 (prefer), never 0.', default: 50 }),
})
export type Affinity = Infer<typeof Affinity>

export const SpreadTarget = Named('SpreadTarget', {
  Value: Type.String({ description: 'Value of the attribute.' }),
  Percent: Type.Integer({ description: 'Share of the allocations it should get.' }),
})
export type SpreadTarget = Infer<typeof SpreadTarget>

export const Spread = Named('Spread', 'Spreads allocations over the values of an attribute.', {
  Attribute: Type.String({ description: 'Attribute over whose values to spread.' }),
  Weight: Type.Integer({ description: 'From 1 to 100, against other spreads.', default: 50 }),
  SpreadTarget: Nullable(Type.Array(SpreadTarget)),
})
export type Spread = Infer<typeof Spread>
