import type { Rule, Term } from '../syntax/ast.ts'
import type { BindingState } from './bindings.ts'
import type { Definition, Expression, Goal, RuleIR, Variable } from './ir.ts'
import { lowerBody } from './lower-literal.ts'
import { lowerTerm, type GoalBuilder } from './lower-term.ts'
import { checkSafe, orderExpression, reorderForSafety } from './safety.ts'
import {
  declare,
  makeScope,
  makeVariable,
  patternNames,
  displayName,
  type Lowering,
  type Scope,
} from './scope.ts'
import { throwCompileError, type Compilation, type ErrorSite, type Unit } from './unit.ts'

/** Fills in what the evaluator needs of a rule: parameters, ordered bodies, heads. */
export function lowerRule(compilation: Compilation, unit: Unit, ir: RuleIR): void {
  const lowering = startLowering(compilation, unit, ir)
  const scope = makeScope()
  const goals: Goal[] = []
  const sink = makeSink(lowering, scope, goals)
  const { rule } = ir
  if (rule.isDefault) checkDefault(unit, rule)
  ir.parameters = lowerParameters(sink, rule.parameters ?? [])
  const main = bodyBuilder(sink)
  lowerBody(main, rule.body)
  const prefixLength = ir.group.path.length - unit.package.length
  const suffix = rule.path.slice(prefixLength).map((item) => lowerTerm(main, item))
  const member = rule.member === undefined ? undefined : lowerTerm(main, rule.member)
  const value = lowerTerm(main, rule.value)
  const trouble: ErrorSite = { source: unit.source, at: rule.at }
  const parameters: BindingState = {
    bound: new Set(ir.parameters),
    visible: new Set(ir.parameters),
  }
  const finish = (all: readonly Goal[], heads: readonly Expression[]) => {
    const ordered = reorderForSafety(all, parameters, trouble)
    for (const head of heads) checkSafe(head, ordered.known, trouble)
    const order = (head: Expression) => orderExpression(head, ordered.known, trouble)
    return { body: ordered.goals, heads: heads.map(order) }
  }
  const heads = [value, ...(member === undefined ? [] : [member]), ...suffix]
  const { body, heads: done } = finish([...goals, ...main.goals], heads)
  const [doneValue = value, ...rest] = done
  if (member !== undefined) ir.member = rest.shift()
  ir.suffix = rest
  const otherwise = lowerElse(sink, rule.otherwise, (branch, head) =>
    finish([...goals, ...branch], [head]),
  )
  ir.definition = { body, value: doneValue, elseBranch: otherwise, at: rule.at }
  ir.slotCount = lowering.slotCount
  checkDeclared(lowering)
}

/** A query: its body, and the variables that make up an answer. */
export function lowerQuery(
  compilation: Compilation,
  unit: Unit,
  body: Rule['body'],
): {
  readonly goals: readonly Goal[]
  readonly slotCount: number
  readonly names: ReadonlyMap<string, Variable>
} {
  const lowering = startLowering(compilation, unit, undefined)
  const scope = makeScope()
  const sink = makeSink(lowering, scope, [])
  lowerBody(sink, body)
  const nothing: BindingState = { bound: new Set(), visible: new Set() }
  const { goals, known } = reorderForSafety(sink.goals, nothing, { source: unit.source, at: 0 })
  const names = new Map(
    [...lowering.implicit, ...scope.names].filter(
      ([name, variable]) => !name.includes('$') && known.bound.has(variable),
    ),
  )
  return { goals, slotCount: lowering.slotCount, names }
}

function startLowering(compilation: Compilation, unit: Unit, ir: RuleIR | undefined): Lowering {
  return {
    compilation,
    unit,
    ir,
    used: new Set(),
    implicit: new Map(),
    declared: [],
    slotCount: 0,
  }
}

function makeSink(lowering: Lowering, scope: Scope, goals: Goal[]): GoalBuilder {
  return { lowering, scope, goals, with: [], hoistsAll: false, lowerBody }
}

/** Bodies of the same rule see its parameters and nothing of one another. */
function bodyBuilder(sink: GoalBuilder): GoalBuilder {
  return makeSink(sink.lowering, makeScope(sink.scope), [])
}

type Finish = (
  goals: readonly Goal[],
  head: Expression,
) => { readonly body: readonly Goal[]; readonly heads: readonly Expression[] }

function lowerElse(
  sink: GoalBuilder,
  branch: Rule['otherwise'],
  finish: Finish,
): Definition | undefined {
  if (branch === undefined) return undefined
  const own = bodyBuilder(sink)
  lowerBody(own, branch.body)
  const value = lowerTerm(own, branch.value)
  const { body, heads } = finish(own.goals, value)
  const otherwise = lowerElse(sink, branch.otherwise, finish)
  return { body, value: heads[0] ?? value, elseBranch: otherwise, at: branch.at }
}

/** A parameter that is a name is that variable; any other is unified with what is passed. */
function lowerParameters(sink: GoalBuilder, terms: readonly Term[]): readonly Variable[] {
  const { lowering, scope, goals } = sink
  const variables = terms.map((term) =>
    makeVariable(lowering, {
      name: term.type === 'var' ? term.name : '_$',
      at: term.at,
      isAssigned: true,
    }),
  )
  const isNew = (name: string) => !scope.names.has(name)
  for (const [at, term] of terms.entries()) {
    const variable = variables[at]
    if (variable !== undefined && term.type === 'var' && isNew(term.name))
      scope.names.set(term.name, variable)
    else
      for (const name of patternNames(term))
        if (isNew(name.name))
          declare(lowering, scope, { name: name.name, at: name.at, isAssigned: false })
  }
  for (const [at, term] of terms.entries()) {
    const variable = variables[at]
    if (variable === undefined) continue
    if (term.type === 'var' && scope.names.get(term.name) === variable) continue
    const passed: Expression = { type: 'var', variable, at: term.at }
    const right = lowerTerm(sink, term)
    goals.push({ type: 'unify', left: passed, right, declares: false, at: term.at, with: [] })
  }
  return variables
}

function checkDefault(unit: Unit, rule: Rule): void {
  for (const parameter of rule.parameters ?? [])
    if (parameter.type !== 'var')
      throwCompileError(
        { source: unit.source, at: parameter.at },
        'parameters of a default rule must be names',
      )
  if (!isConstantTerm(rule.value))
    throwCompileError(
      { source: unit.source, at: rule.value.at, code: 'rego_parse_error' },
      'illegal default rule (value cannot contain a reference, a variable or a call)',
    )
}

function isConstantTerm(term: Term): boolean {
  switch (term.type) {
    case 'scalar':
    case 'comprehension':
      return true
    case 'array':
    case 'set':
      return term.items.every(isConstantTerm)
    case 'object':
      return term.entries.every((entry) => entry.every(isConstantTerm))
    default:
      return false
  }
}

function checkDeclared({ declared, used, unit }: Lowering): void {
  const unused = declared.find((variable) => !used.has(variable))
  if (unused !== undefined)
    throwCompileError(
      { source: unit.source, at: unused.at },
      `declared var ${displayName(unused.name)} unused`,
    )
}
