import type { Affinity, Constraint, Spread, SpreadTarget } from '@reeve/contract'
import { byField, byContent, objectsRule, rulesOf } from './rules.ts'

const CONSTRAINT = rulesOf<Constraint>({ LTarget: 'field', RTarget: 'field', Operand: 'field' })

const AFFINITY = rulesOf<Affinity>({
  LTarget: 'field',
  RTarget: 'field',
  Operand: 'field',
  Weight: 'field',
})

const SPREAD = rulesOf<Spread>({
  Attribute: 'field',
  Weight: 'field',
  SpreadTarget: objectsRule(
    'SpreadTarget',
    rulesOf<SpreadTarget>({ Value: 'field', Percent: 'field' }),
    byField('Value'),
  ),
})

export const constraints = objectsRule('Constraint', CONSTRAINT, byContent)
export const affinities = objectsRule('Affinity', AFFINITY, byContent)
export const spreads = objectsRule('Spread', SPREAD, byField('Attribute'))
