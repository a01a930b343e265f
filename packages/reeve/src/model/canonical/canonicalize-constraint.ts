import type { Affinity, Constraint, Input, Spread } from '@reeve/contract'
import { applyDefaults, listOrNull } from './unset.ts'

const CONSTRAINT_DEFAULTS: Constraint = { LTarget: '', RTarget: '', Operand: '=' }
const AFFINITY_DEFAULTS: Affinity = { ...CONSTRAINT_DEFAULTS, Weight: 50 }

interface PlacementInput {
  readonly Constraints?: readonly Input<Constraint>[] | null | undefined
  readonly Affinities?: readonly Input<Affinity>[] | null | undefined
  readonly Spreads?: readonly Input<Spread>[] | null | undefined
}

/** Canonicalizes constraints, affinities and spreads of a job or group. */
export function canonicalizePlacement(input: PlacementInput) {
  return {
    ...canonicalizeConstraints(input),
    Spreads: listOrNull(input.Spreads, canonicalizeSpread),
  }
}

/** Canonicalizes constraints and affinities, also of tasks and devices, which have no spreads. */
export function canonicalizeConstraints(input: Omit<PlacementInput, 'Spreads'>) {
  return {
    Constraints: listOrNull(input.Constraints, (constraint) =>
      applyDefaults(CONSTRAINT_DEFAULTS, constraint),
    ),
    Affinities: listOrNull(input.Affinities, (affinity) =>
      applyDefaults(AFFINITY_DEFAULTS, affinity),
    ),
  }
}

function canonicalizeSpread(input: Input<Spread>): Spread {
  return {
    Attribute: input.Attribute ?? '',
    Weight: input.Weight ?? 50,
    SpreadTarget: listOrNull(input.SpreadTarget, (target) =>
      applyDefaults({ Value: '', Percent: 0 }, target),
    ),
  }
}
