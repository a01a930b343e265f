import type { ScalingPolicy } from '@reeve/contract'
import { concatIssues, issue, issueIf, type ValidationIssue } from './finding.ts'

/** Checks the bounds of a scaling policy of a group or task. */
export function checkScalingBounds(
  policy: ScalingPolicy,
  path: string,
): readonly ValidationIssue[] {
  const { Min: minimum, Max: maximum } = policy
  return concatIssues(
    issueIf(
      maximum < 0 &&
        issue(
          `${path}.Max`,
          'Scaling policy invalid: maximum count must be specified and non-negative',
        ),
    ),
    issueIf(
      maximum >= 0 &&
        maximum < minimum &&
        issue(
          `${path}.Max`,
          'Scaling policy invalid: maximum count must not be less than minimum count',
        ),
    ),
    issueIf(
      minimum < 0 &&
        issue(`${path}.Min`, 'Scaling policy invalid: minimum count must be non-negative'),
    ),
  )
}
