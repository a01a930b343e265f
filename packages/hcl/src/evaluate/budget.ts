import {
  CHARACTERS_PER_STEP,
  EVALUATION_STEPS_MAX,
  STRING_LENGTH_MAX,
  VALUE_DEPTH_MAX,
  VALUE_SIZE_MAX,
} from '../limits.ts'
import { isList, isObject, type ObjectValue, type Value } from '../value/value.ts'

export interface EvaluationLimits {
  readonly stepsMax: number
  readonly stringLengthMax: number
  readonly valueSizeMax: number
  readonly valueDepthMax: number
}

/** Counts the evaluation steps of a scope and its children. */
export interface StepBudget {
  readonly limits: EvaluationLimits
  stepsUsed: number
  /** Sizes of values that are already measured: shared parts are visited only once. */
  readonly shapes: WeakMap<object, ValueSize>
}

/** Size of a value when serialized. */
export interface ValueSize {
  readonly nodeCount: number
  readonly characterCount: number
  readonly depth: number
}

export function makeMeter(limits: Partial<EvaluationLimits> = {}): StepBudget {
  return {
    limits: {
      stepsMax: limits.stepsMax ?? EVALUATION_STEPS_MAX,
      stringLengthMax: limits.stringLengthMax ?? STRING_LENGTH_MAX,
      valueSizeMax: limits.valueSizeMax ?? VALUE_SIZE_MAX,
      valueDepthMax: limits.valueDepthMax ?? VALUE_DEPTH_MAX,
    },
    stepsUsed: 0,
    shapes: new WeakMap(),
  }
}

/** Returns false if the budget is exhausted. */
export function charge(meter: StepBudget, steps: number): boolean {
  meter.stepsUsed += steps
  return meter.stepsUsed <= meter.limits.stepsMax
}

/** Steps for one traversal of the value. */
export function traversalCost(shape: ValueSize): number {
  return shape.nodeCount + Math.floor(shape.characterCount / CHARACTERS_PER_STEP)
}

const TOO_DEEP: ValueSize = { nodeCount: Infinity, characterCount: Infinity, depth: Infinity }

export function measure(meter: StepBudget, value: Value): ValueSize {
  return measureAt(meter, value, 0)
}

export function isTooLarge(meter: StepBudget, shape: ValueSize): boolean {
  const { valueSizeMax, valueDepthMax } = meter.limits
  return shape.nodeCount + shape.characterCount > valueSizeMax || shape.depth > valueDepthMax
}

function measureAt(meter: StepBudget, value: Value, level: number): ValueSize {
  if (typeof value === 'string') return { nodeCount: 1, characterCount: value.length, depth: 0 }
  if (!isList(value) && !isObject(value)) return { nodeCount: 1, characterCount: 0, depth: 0 }
  const known = meter.shapes.get(value)
  if (known !== undefined) return known
  // Also terminates on cyclic values.
  if (level > meter.limits.valueDepthMax) return TOO_DEEP
  const shape = measureMembers(meter, value, level)
  if (shape !== TOO_DEEP) meter.shapes.set(value, shape)
  return shape
}

function measureMembers(
  meter: StepBudget,
  value: readonly Value[] | ObjectValue,
  level: number,
): ValueSize {
  let nodeCount = 1
  let characterCount = 0
  let depth = 0
  if (!isList(value)) for (const name of Object.keys(value)) characterCount += name.length
  for (const member of isList(value) ? value : Object.values(value)) {
    const shape = measureAt(meter, member, level + 1)
    // Stop here: continuing would visit a shared, too deep part once per path to it.
    if (shape === TOO_DEEP) return TOO_DEEP
    nodeCount += shape.nodeCount
    characterCount += shape.characterCount
    depth = Math.max(depth, shape.depth)
  }
  return { nodeCount, characterCount, depth: depth + 1 }
}
