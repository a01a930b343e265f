import { ok } from '@reeve/kit/result.ts'
import { CHARACTERS_PER_STEP, type StepBudget } from '@reeve/hcl'
import { chargeSteps, fail, type FunctionResult } from '../define.ts'

/** Creates a string after checking and charging its length. */
export function boundedString(
  meter: StepBudget,
  length: number,
  make: () => string,
): FunctionResult {
  const { stringLengthMax } = meter.limits
  if (length > stringLengthMax)
    return fail(`the result would be longer than ${stringLengthMax} characters`)
  const paid = chargeSteps(meter, length / CHARACTERS_PER_STEP)
  return paid.ok ? ok(make()) : paid
}
