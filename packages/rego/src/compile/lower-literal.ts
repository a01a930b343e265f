import type {
  CallTerm,
  Literal,
  NotLiteral,
  Term,
  UnifyLiteral,
  VarTerm,
  With,
} from '../syntax/ast.ts'
import type { Expression, FunctionReplacement, Goal, Replacement } from './ir.ts'
import {
  findCallee,
  type FoundCallee,
  type GoalBuilder,
  hoist,
  isGenerator,
  lowerCallee,
  lowerRootTerm,
  lowerTerm,
  lowerValues,
  nameSegments,
  nestedBuilder,
} from './lower-term.ts'
import { findNode } from './rule-tree.ts'
import { declare, findGlobal, findLocal, isWildcard, patternNames } from './scope.ts'
import { throwCompileError } from './unit.ts'

export function lowerBody(sink: GoalBuilder, body: readonly Literal[]): void {
  for (const literal of body) {
    const replaced = lowerWith(sink, literal.with)
    lowerLiteral(
      { ...sink, with: replaced.length === 0 ? sink.with : [...sink.with, ...replaced] },
      literal,
    )
  }
}

function lowerLiteral(sink: GoalBuilder, literal: Literal): void {
  const base = { at: literal.at, with: sink.with }
  switch (literal.type) {
    case 'some':
      for (const { name, at } of literal.names) {
        const variable = declare(sink.lowering, sink.scope, { name, at, isAssigned: false })
        sink.lowering.declared.push(variable)
      }
      return
    case 'some-in':
      return lowerSomeIn(sink, literal)
    case 'every':
      sink.goals.push(lowerEvery(sink, literal))
      return
    case 'not':
      sink.goals.push({
        ...base,
        type: 'not',
        isScoped: literal.isScoped,
        body: lowerNot(sink, literal),
      })
      return
    case 'and':
    case 'or': {
      const sides = [literal.left, literal.right].map((side) => {
        const inner = nestedBuilder(sink)
        inner.lowerBody(inner, side)
        return inner.goals
      })
      const [left = [], right = []] = sides
      sink.goals.push({ ...base, type: literal.type, left, right })
      return
    }
    case 'unify':
      sink.goals.push(...lowerUnify(sink, literal))
      return
    case 'expression':
      sink.goals.push(...lowerExpression(sink, literal.term, literal.at))
  }
}

function lowerEvery(sink: GoalBuilder, literal: Literal & { type: 'every' }): Goal {
  const domain = lowerTerm(sink, literal.domain)
  const inner = nestedBuilder(sink)
  const own = ({ name, at }: VarTerm) => {
    const variable = declare(sink.lowering, inner.scope, { name, at, isAssigned: true })
    if (!isWildcard(name)) sink.lowering.declared.push(variable)
    return variable
  }
  const key = literal.key === undefined ? undefined : own(literal.key)
  const value = own(literal.value)
  inner.lowerBody(inner, literal.body)
  const { at } = literal
  return { type: 'every', key, value, domain, body: inner.goals, at, with: sink.with }
}

/** Goals of the negated expression; what they need stands before, unless the scope is its own. */
function lowerNot(sink: GoalBuilder, literal: NotLiteral): readonly Goal[] {
  if (literal.isScoped) {
    const inner = nestedBuilder(sink)
    inner.lowerBody(inner, literal.body)
    return inner.goals
  }
  const [only] = literal.body
  const outside: GoalBuilder = { ...sink, hoistsAll: true }
  if (only?.type === 'unify') return withoutReplacements(lowerUnify(outside, only))
  if (only?.type === 'expression')
    return withoutReplacements(lowerExpression(outside, only.term, only.at))
  return []
}

/** The goal around them carries the replacements already. */
function withoutReplacements(goals: readonly Goal[]): readonly Goal[] {
  return goals.map((goal) => ({ ...goal, with: [] }))
}

function lowerSomeIn(sink: GoalBuilder, literal: Literal & { type: 'some-in' }): void {
  const domain = lowerTerm(sink, literal.domain)
  const terms = literal.key === undefined ? [literal.value] : [literal.key, literal.value]
  for (const { name, at } of terms.flatMap(patternNames))
    if (!sink.scope.names.has(name) || findLocal(sink.scope, name) === undefined)
      declare(sink.lowering, sink.scope, { name, at, isAssigned: true })
  const key = literal.key === undefined ? undefined : lowerPattern(sink, literal.key)
  const value = lowerPattern(sink, literal.value)
  const { at } = literal
  sink.goals.push({ type: 'iterate', key, value, domain, at, with: sink.with })
}

/** Sides of `=`: the names in them may be bound by it, so other terms become goals of their own. */
function lowerPattern(sink: GoalBuilder, term: Term): Expression {
  switch (term.type) {
    case 'array':
      return {
        type: 'array',
        items: term.items.map((item) => lowerNested(sink, item)),
        at: term.at,
      }
    case 'object':
      return {
        type: 'object',
        entries: term.entries.map(([key, value]) => [
          lowerTerm(sink, key),
          lowerNested(sink, value),
        ]),
        at: term.at,
      }
    default:
      return lowerTerm(sink, term)
  }
}

function lowerNested(sink: GoalBuilder, term: Term): Expression {
  if (term.type === 'array' || term.type === 'object') return lowerPattern(sink, term)
  const expression = lowerTerm(sink, term)
  const isBindable = expression.type === 'var' || expression.type === 'constant'
  return isBindable ? expression : hoistLater(sink, expression)
}

/** Ordering puts the goal before or after the pattern, whichever can bind the other. */
function hoistLater(sink: GoalBuilder, expression: Expression): Expression {
  return expression.type === 'call' || expression.type === 'reference'
    ? hoist(sink, expression)
    : expression
}

function lowerUnify(sink: GoalBuilder, literal: UnifyLiteral): Goal[] {
  if (literal.declares) return [lowerDeclaration(sink, literal)]
  const left = lowerSide(sink, literal.left)
  let right = lowerSide(sink, literal.right)
  // Only one side can be enumerated at a time.
  if (
    left.type === 'reference' &&
    right.type === 'reference' &&
    isGenerator(left) &&
    isGenerator(right)
  )
    right = hoist(sink, right)
  const relation = relationGoal(sink, { left, right, at: literal.at })
  if (relation !== undefined) return [relation]
  return [{ type: 'unify', left, right, declares: false, at: literal.at, with: sink.with }]
}

function relationGoal(
  sink: GoalBuilder,
  {
    left,
    right,
    at,
  }: { readonly left: Expression; readonly right: Expression; readonly at: number },
): Goal | undefined {
  for (const [domain, value] of [
    [left, right],
    [right, left],
  ] as const)
    if (
      domain.type === 'call' &&
      domain.callee.type === 'builtin' &&
      domain.callee.builtin.isRelation
    )
      return { type: 'iterate', key: undefined, value, domain, at, with: sink.with }
  return undefined
}

function lowerSide(sink: GoalBuilder, term: Term): Expression {
  if (term.type === 'ref') return lowerRootTerm(sink, term)
  if (term.type === 'call' && !sink.hoistsAll) return lowerRootTerm(sink, term)
  if (term.type === 'var') return lowerRootTerm(sink, term)
  return lowerPattern(sink, term)
}

function lowerDeclaration(sink: GoalBuilder, literal: UnifyLiteral): Goal {
  const { at } = literal
  const right = lowerSide(sink, literal.right)
  checkDeclarable(sink, literal.left)
  for (const name of patternNames(literal.left))
    declare(sink.lowering, sink.scope, { name: name.name, at: name.at, isAssigned: true })
  const left = lowerPattern(sink, literal.left)
  const relation = relationGoal(sink, { left, right, at })
  return relation ?? { type: 'unify', left, right, declares: true, at, with: sink.with }
}

function checkDeclarable(sink: GoalBuilder, term: Term): void {
  if (term.type === 'var' || term.type === 'array' || term.type === 'object') return
  throwCompileError(
    { source: sink.lowering.unit.source, at: term.at },
    `cannot assign to ${term.type === 'ref' ? 'ref' : term.type}`,
  )
}

function lowerExpression(sink: GoalBuilder, term: Term, at: number): Goal[] {
  if (term.type === 'call') {
    if (isPrint(sink, term)) return [lowerPrint(sink, term)]
    const captured = lowerCaptured(sink, term)
    if (captured !== undefined) return captured
    return [{ type: 'test', term: lowerCallTest(sink, term), at, with: sink.with }]
  }
  return [{ type: 'test', term: lowerRootTerm(sink, term), at, with: sink.with }]
}

/** `not a == b` compares inside: an undefined side makes the comparison fail, not the rule. */
function lowerCallTest(sink: GoalBuilder, term: CallTerm): Expression {
  if (!sink.hoistsAll || term.name.join('.') !== 'equal') return lowerRootTerm(sink, term)
  const operands = term.operands.map((operand) => lowerSide(sink, operand))
  const { name, callee } = lowerCallee(sink.lowering, sink.scope, term)
  return { type: 'call', name, callee, operands, at: term.at }
}

/** `f(x, y)` for a function of one operand: `y` is its value. */
function lowerCaptured(sink: GoalBuilder, term: CallTerm): Goal[] | undefined {
  const last = term.operands.at(-1)
  if (last === undefined || term.name[1] === 'metadata') return undefined
  const { arity } = lowerCallee(sink.lowering, sink.scope, term)
  if (term.operands.length !== arity + 1) return undefined
  const { at } = term
  const right = lowerRootTerm(sink, { ...term, operands: term.operands.slice(0, -1) })
  const left = lowerSide(sink, last)
  const relation = relationGoal(sink, { left, right, at })
  return [relation ?? { type: 'unify', left, right, declares: false, at, with: sink.with }]
}

function isPrint(sink: GoalBuilder, term: CallTerm): boolean {
  return (
    term.name.length === 1 &&
    term.name[0] === 'print' &&
    findLocal(sink.scope, 'print') === undefined &&
    findGlobal(sink.lowering, 'print') === undefined
  )
}

function lowerPrint(sink: GoalBuilder, term: CallTerm): Goal {
  const operands = term.operands.map((operand) =>
    lowerValues(sink, { type: 'expression', at: operand.at, term: operand, with: [] }),
  )
  return { type: 'print', operands, at: term.at, with: sink.with }
}

/** Values of replacements are evaluated before the goal, without them. */
function lowerWith(sink: GoalBuilder, modifiers: readonly With[]): readonly Replacement[] {
  if (modifiers.length === 0) return []
  const plain: GoalBuilder = { ...sink, with: [], hoistsAll: false }
  return modifiers.map((modifier) => lowerModifier(plain, modifier))
}

function lowerModifier(sink: GoalBuilder, modifier: With): Replacement {
  const { lowering } = sink
  const segments = nameSegments(modifier.target)
  const trouble = {
    source: lowering.unit.source,
    at: modifier.target.at,
    code: 'rego_type_error',
  } as const
  if (segments === undefined || findLocal(sink.scope, segments[0] ?? '') !== undefined)
    throwCompileError(
      trouble,
      'with keyword target must reference existing input, data, or a function',
    )
  const replaced = findCallee(lowering, sink.scope, segments)
  if (replaced !== undefined)
    return { type: 'function', name: replaced.name, by: lowerReplacement(sink, modifier, replaced) }
  const [first = '', ...rest] = segments
  const path = [...(findGlobal(lowering, first) ?? [first]), ...rest]
  if (path[0] === 'input')
    return { type: 'input', path: path.slice(1), value: lowerTerm(sink, modifier.value) }
  if (path[0] !== 'data')
    throwCompileError(
      trouble,
      'with keyword target must reference existing input, data, or a function',
    )
  checkPartial(sink, path.slice(1), modifier)
  const node = findNode(lowering.compilation.root, path.slice(1))
  return { type: 'data', path: path.slice(1), node, value: lowerTerm(sink, modifier.value) }
}

/** A document made by rules is replaced as a whole or not at all. */
function checkPartial(sink: GoalBuilder, path: readonly string[], modifier: With): void {
  const { compilation, unit } = sink.lowering
  for (let length = 1; length < path.length; length++) {
    const group = findNode(compilation.root, path.slice(0, length))?.group
    if (group !== undefined && group.kind !== 'function')
      throwCompileError(
        { source: unit.source, at: modifier.target.at },
        'with keyword cannot partially replace virtual document(s)',
      )
  }
}

function lowerReplacement(
  sink: GoalBuilder,
  modifier: With,
  replaced: FoundCallee,
): FunctionReplacement {
  const by = findFunction(sink, modifier.value)
  if (by === undefined) return { value: lowerTerm(sink, modifier.value) }
  if (by.arity !== replaced.arity)
    throwCompileError(
      { source: sink.lowering.unit.source, at: modifier.at, code: 'rego_type_error' },
      `${by.name}: arity mismatch, replaces ${replaced.name} with ${replaced.arity} operands`,
    )
  const { ir, unit } = sink.lowering
  if (by.callee.type === 'function' && ir !== undefined)
    ir.group.reads.set(by.callee.group, { source: unit.source, at: modifier.at })
  return { callee: by.callee }
}

function findFunction(sink: GoalBuilder, term: Term): FoundCallee | undefined {
  const segments = nameSegments(term)
  return segments === undefined ? undefined : findCallee(sink.lowering, sink.scope, segments)
}
