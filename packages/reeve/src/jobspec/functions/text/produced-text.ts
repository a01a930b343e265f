import { ok } from '@reeve/kit/result.ts'
import { CHARACTERS_PER_STEP, type Meter } from '@reeve/hcl'
import { pay, refuse, type Outcome } from '../define.ts'

/** Creates a string after checking and charging its length. */
export function checkedText(meter: Meter, length: number, make: () => string): Outcome {
  const { stringLengthMax } = meter.limits
  if (length > stringLengthMax)
    return refuse(`the result would be longer than ${stringLengthMax} characters`)
  const paid = pay(meter, length / CHARACTERS_PER_STEP)
  return paid.ok ? ok(make()) : paid
}
