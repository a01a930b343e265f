import type { Input, ScalingPolicy } from '@reeve/contract'
import { opaqueOrNull, textOr } from './unset.ts'

/** What a policy that is silent about them gets; its target is always the thing it stands in. */
export interface ScalingDefaults {
  readonly type: string
  readonly min: number
  readonly target: Readonly<Record<string, string>>
}

/** A missing `Max` becomes −1, which validation refuses; the `ID` is given at registration. */
export function canonicalizeScaling(
  input: Input<ScalingPolicy>,
  defaults: ScalingDefaults,
): ScalingPolicy {
  return {
    ID: input.ID ?? '',
    Enabled: input.Enabled ?? true,
    Type: textOr(input.Type, defaults.type),
    Target: defaults.target,
    CreateIndex: input.CreateIndex ?? 0,
    ModifyIndex: input.ModifyIndex ?? 0,
    Policy: opaqueOrNull(input.Policy),
    Min: input.Min ?? defaults.min,
    Max: input.Max ?? -1,
  }
}
