import type { UnifyGoal } from '../compile/ir.ts'
import { planUnify, type UnifyStep } from '../compile/plan-unify.ts'
import { equal } from '../value/value.ts'
import type { CodegenContext } from './codegen.ts'
import type { Step } from './env.ts'
import { compileMatch } from './match.ts'
import { compileEnumeration } from './reference.ts'

export function compileUnify(
  coder: CodegenContext,
  goal: UnifyGoal,
  buildNext: (coder: CodegenContext) => Step,
): Step {
  const plan = planUnify([goal.left, goal.right], coder)
  // Ordering has put the goal where it can be planned.
  return plan === undefined ? never : compileSteps(coder, plan.steps, buildNext)
}

const never: Step = () => false

function compileSteps(
  coder: CodegenContext,
  steps: readonly UnifyStep[],
  buildNext: (coder: CodegenContext) => Step,
): Step {
  const [step, ...rest] = steps
  if (step === undefined) return buildNext(coder)
  const buildRest = () => compileSteps(coder, rest, buildNext)
  switch (step.type) {
    case 'never':
      return never
    case 'assign': {
      const from = coder.compileExpression(coder, step.from)
      const { slot } = step.variable
      coder.bound.add(step.variable)
      const next = buildRest()
      return (frame) => {
        const value = from(frame)
        if (value === undefined) return false
        frame.slots[slot] = value
        return next(frame)
      }
    }
    case 'equal': {
      const left = coder.compileExpression(coder, step.left)
      const right = coder.compileExpression(coder, step.right)
      const next = buildRest()
      return (frame) => {
        const a = left(frame)
        if (a === undefined) return false
        const b = right(frame)
        return b !== undefined && equal(a, b) && next(frame)
      }
    }
    case 'match': {
      const from = coder.compileExpression(coder, step.from)
      const match = compileMatch(coder, step.pattern)
      const next = buildRest()
      return (frame) => {
        const value = from(frame)
        return value !== undefined && match(frame, value) && next(frame)
      }
    }
    case 'enumerate':
      return compileEnumeration(coder, step.reference, () => {
        const match = compileMatch(coder, step.pattern)
        const next = buildRest()
        return (frame, value) => match(frame, value) && next(frame)
      })
  }
}
