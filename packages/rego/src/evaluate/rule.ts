import type { Definition, VirtualDocument, RuleIR } from '../compile/ir.ts'
import { equal, type Value } from '../value/value.ts'
import type { CodegenContext, Program } from './codegen.ts'
import { compileComprehension } from './comprehension.ts'
import { Frame, type Env, type ValueThunk, type Step, EvaluationAborted } from './env.ts'
import { compileExpression, constantOf } from './expression.ts'
import { compileGoals } from './goal.ts'

/** A rule with one value. */
export interface ValueRule {
  readonly ir: RuleIR
  /** The value of every solution of every branch, if it is the same constant. */
  readonly constant: Value | undefined
  readonly run: (env: Env, operands: readonly Value[]) => Value | undefined
}

/** A rule that adds to a set or object. */
export interface PartialRule {
  readonly ir: RuleIR
  readonly run: (frame: Frame) => void
}

export function compileValueRule(program: Program, ir: RuleIR): ValueRule {
  const branches: Step[] = []
  const constants = new Set<Value | undefined>()
  for (let at = ir.definition; at !== undefined; at = at.elseBranch) {
    branches.push(compileBranch(program, ir, at))
    const constant = constantOf(at.value)
    constants.add(typeof constant === 'object' && constant !== null ? undefined : constant)
  }
  const [constant] = constants
  const { slotCount } = ir
  const run: ValueRule['run'] = (env, operands) => {
    const frame = new Frame(env, slotCount)
    for (let at = 0; at < operands.length; at++) frame.slots[at] = operands[at]
    for (const branch of branches) {
      branch(frame)
      if (frame.result !== undefined) break
    }
    return frame.result
  }
  const traced = program.isTraced ? traceRule(ir, run) : run
  return { ir, constant: constants.size === 1 ? constant : undefined, run: traced }
}

function traceRule(ir: RuleIR, run: ValueRule['run']): ValueRule['run'] {
  return (env, operands) => {
    const { trace } = env.shared.options
    trace?.({ type: 'enter', rule: ir })
    const value = run(env, operands)
    trace?.(
      value === undefined ? { type: 'undefined', rule: ir } : { type: 'value', rule: ir, value },
    )
    return value
  }
}

function compileBranch(program: Program, ir: RuleIR, definition: Definition): Step {
  return compileGoals(rootContext(program, ir), definition.body, (coder) => {
    const value = compileExpression(coder, definition.value)
    // One solution is enough if all have the same value.
    const isConstant = constantOf(definition.value) !== undefined
    return (frame) => recordResult(frame, { value, isConstant, ir })
  })
}

interface Outcome {
  readonly value: ValueThunk
  readonly isConstant: boolean
  readonly ir: RuleIR
}

function recordResult(frame: Frame, { value, isConstant, ir }: Outcome): boolean {
  const found = value(frame)
  if (found === undefined) return false
  if (frame.result === undefined) frame.result = found
  else if (!equal(frame.result, found)) throw conflict(ir)
  return isConstant
}

export function conflict(ir: RuleIR): EvaluationAborted {
  return new EvaluationAborted({
    code: 'eval_conflict_error',
    message: conflictMessage(ir.group),
    location: ir.source.locate(ir.rule.at),
  })
}

function conflictMessage({ kind, name }: VirtualDocument): string {
  if (kind === 'function')
    return `functions must not produce multiple outputs for same inputs: function ${name} produced conflicting values for the same inputs`
  if (kind === 'object') return `object keys must be unique: rule ${name}`
  return `complete rules must not produce multiple outputs: rule ${name} produced conflicting values`
}

/** Compiles a partial rule, which adds to the frame's collector for every solution. */
export function compilePartialRule(program: Program, ir: RuleIR): PartialRule {
  const { definition } = ir
  if (definition === undefined) return { ir, run: () => undefined }
  const step = compileGoals(rootContext(program, ir), definition.body, (coder) => {
    const suffix = ir.suffix.map((item) => compileExpression(coder, item))
    const leaf = compileExpression(coder, ir.member ?? definition.value)
    const isMember = ir.member !== undefined
    if (suffix.length === 0 && isMember && ir.group.kind === 'set')
      return addMember(leaf, program.isTraced ? ir : undefined)
    return (frame) => addEntry(frame, { suffix, leaf, isMember, ir })
  })
  return {
    ir,
    run: (frame) => {
      const { trace } = frame.env.shared.options
      if (program.isTraced) trace?.({ type: 'enter', rule: ir })
      step(frame)
    },
  }
}

/** With `told`, the trace receives every member and the rule that produced it. */
function addMember(member: ValueThunk, tracedRule: RuleIR | undefined): Step {
  return (frame) => {
    const value = member(frame)
    frame.env.shared.step()
    if (value === undefined) return false
    frame.output?.set.add(value)
    if (tracedRule !== undefined)
      frame.env.shared.options.trace?.({ type: 'value', rule: tracedRule, value })
    return false
  }
}

interface EntryParts {
  readonly suffix: readonly ValueThunk[]
  readonly leaf: ValueThunk
  readonly isMember: boolean
  readonly ir: RuleIR
}

function addEntry(frame: Frame, { suffix, leaf, isMember, ir }: EntryParts): boolean {
  frame.env.shared.step()
  const path: Value[] = []
  for (const item of suffix) {
    const key = item(frame)
    if (key === undefined) return false
    path.push(key)
  }
  const value = leaf(frame)
  const document = frame.output?.document
  if (value === undefined || document === undefined) return false
  const isPut = isMember ? document.add(path, value) : document.put(path, value)
  if (isPut === undefined) throw conflict(ir)
  return false
}

function rootContext(program: Program, ir: RuleIR): CodegenContext {
  return {
    program,
    source: ir.source,
    rule: ir,
    bound: new Set(ir.parameters),
    visible: new Set(ir.parameters),
    counter: { collectors: 0 },
    isIndexing: false,
    compileGoals,
    compileComprehension,
    compileExpression,
  }
}
