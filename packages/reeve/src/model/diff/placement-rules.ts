import type { Affinity, Constraint, Spread, SpreadTarget } from '@reeve/contract'
import { by, byContent, objects, rulesOf } from './rules.ts'

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
  SpreadTarget: objects(
    'SpreadTarget',
    rulesOf<SpreadTarget>({ Value: 'field', Percent: 'field' }),
    by('Value'),
  ),
})

export const constraints = objects('Constraint', CONSTRAINT, byContent)
export const affinities = objects('Affinity', AFFINITY, byContent)
export const spreads = objects('Spread', SPREAD, by('Attribute'))
