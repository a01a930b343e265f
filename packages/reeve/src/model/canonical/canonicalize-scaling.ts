import type { Input, ScalingPolicy } from '@reeve/contract'
import { opaqueOrNull, nonEmptyOr } from './unset.ts'

/** Defaults of a scaling policy; its target is always the group or task that contains it. */
export interface ScalingDefaults {
  readonly type: string
  readonly min: number
  readonly target: Readonly<Record<string, string>>
}

/**
 * Returns the policy in canonical form. A missing `Max` becomes −1, which validation rejects; the
 * `ID` is set at registration.
 */
export function canonicalizeScaling(
  input: Input<ScalingPolicy>,
  defaults: ScalingDefaults,
): ScalingPolicy {
  return {
    ID: input.ID ?? '',
    Enabled: input.Enabled ?? true,
    Type: nonEmptyOr(input.Type, defaults.type),
    Target: defaults.target,
    CreateIndex: input.CreateIndex ?? 0,
    ModifyIndex: input.ModifyIndex ?? 0,
    Policy: opaqueOrNull(input.Policy),
    Min: input.Min ?? defaults.min,
    Max: input.Max ?? -1,
  }
}
