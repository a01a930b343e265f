import type { Affinity, Constraint, Input, Spread } from '@reeve/contract'
import { fillUnset, listOrNull } from './unset.ts'

const CONSTRAINT: Constraint = { LTarget: '', RTarget: '', Operand: '=' }
const AFFINITY: Affinity = { ...CONSTRAINT, Weight: 50 }

interface PlacementInput {
  readonly Constraints?: readonly Input<Constraint>[] | null | undefined
  readonly Affinities?: readonly Input<Affinity>[] | null | undefined
  readonly Spreads?: readonly Input<Spread>[] | null | undefined
}

/** The rules that a job and a group share: where they may, should and should evenly be placed. */
export function placementRules(input: PlacementInput) {
  return { ...nodeRules(input), Spreads: listOrNull(input.Spreads, canonicalizeSpread) }
}

/** Tasks and devices have no spreads. */
export function nodeRules(input: Omit<PlacementInput, 'Spreads'>) {
  return {
    Constraints: listOrNull(input.Constraints, (constraint) => fillUnset(CONSTRAINT, constraint)),
    Affinities: listOrNull(input.Affinities, (affinity) => fillUnset(AFFINITY, affinity)),
  }
}

function canonicalizeSpread(input: Input<Spread>): Spread {
  return {
    Attribute: input.Attribute ?? '',
    Weight: input.Weight ?? 50,
    SpreadTarget: listOrNull(input.SpreadTarget, (target) =>
      fillUnset({ Value: '', Percent: 0 }, target),
    ),
  }
}
