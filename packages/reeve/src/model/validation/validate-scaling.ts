import type { ScalingPolicy } from '@reeve/contract'
import { allOf, finding, when, type Finding } from './finding.ts'

/** Shared by the policies of groups and of tasks. */
export function checkScalingBounds(policy: ScalingPolicy, path: string): readonly Finding[] {
  const { Min: minimum, Max: maximum } = policy
  return allOf(
    when(
      maximum < 0 &&
        finding(
          `${path}.Max`,
          'Scaling policy invalid: maximum count must be specified and non-negative',
        ),
    ),
    when(
      maximum >= 0 &&
        maximum < minimum &&
        finding(
          `${path}.Max`,
          'Scaling policy invalid: maximum count must not be less than minimum count',
        ),
    ),
    when(
      minimum < 0 &&
        finding(`${path}.Min`, 'Scaling policy invalid: minimum count must be non-negative'),
    ),
  )
}
