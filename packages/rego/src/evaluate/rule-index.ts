import type { Expression, Goal, RuleIR } from '../compile/ir.ts'
import { RULE_INDEX_ENTRIES_MAX, RULE_INDEX_FROM } from '../limits.ts'
import { type Key, keyOf, type Value } from '../value/value.ts'
import type { Env } from './env.ts'
import { lookupPath } from './lookup.ts'

/** Returns the rules of a document that may have a solution, in source order. */
export interface RuleIndex {
  readonly find: (env: Env, operands: readonly Value[]) => readonly RuleIR[]
}

/**
 * Indexes rules by comparisons with constants such as `input.method == "GET"`. Each level of the
 * tree stands for one subject; a rule without a comparison of it is in every list of the level.
 */
export function indexRules(rules: readonly RuleIR[]): RuleIndex {
  if (rules.length < RULE_INDEX_FROM) return { find: () => rules }
  const listed = rules.map((ir, at) => ({ ir, at, conditions: conditionsOf(ir) }))
  const budget = { entries: RULE_INDEX_ENTRIES_MAX }
  const level = buildLevel(listed, new Set(), budget)
  if (level === undefined || 'rules' in level) return { find: () => rules }
  return { find: (env, operands) => descend(level, env, operands) }
}

/** A comparison of a rule with a constant; `operand` is the index of a parameter. */
interface Condition {
  readonly subject: string
  readonly operand: number | undefined
  readonly path: readonly Value[]
  readonly key: Key
}

interface Listed {
  readonly ir: RuleIR
  readonly at: number
  readonly conditions: ReadonlyMap<string, Condition>
}

type Level =
  | { readonly rules: readonly RuleIR[] }
  | {
      readonly operand: number | undefined
      readonly path: readonly Value[]
      readonly byKey: ReadonlyMap<Key, Level>
      readonly others: Level
    }

function descend(start: Level, env: Env, operands: readonly Value[]): readonly RuleIR[] {
  let level = start
  while (!('rules' in level)) {
    const { operand, path } = level
    const root = operand === undefined ? env.input : operands[operand]
    const value = path.length === 0 ? root : lookupPath(root, path)
    // An undefined subject satisfies no comparison.
    level = (value === undefined ? undefined : level.byKey.get(keyOf(value))) ?? level.others
  }
  return level.rules
}

function buildLevel(
  listed: readonly Listed[],
  used: ReadonlySet<string>,
  budget: { entries: number },
): Level | undefined {
  budget.entries -= listed.length
  if (budget.entries < 0) return undefined
  const subject = listed.length < RULE_INDEX_FROM ? undefined : mostCompared(listed, used)
  if (subject === undefined) return { rules: listed.map(({ ir }) => ir) }
  const others = listed.filter(({ conditions }) => !conditions.has(subject))
  const keys = new Map<Key, Listed[]>()
  let sample: Condition | undefined
  for (const item of listed) {
    const condition = item.conditions.get(subject)
    if (condition === undefined) continue
    sample = condition
    const same = keys.get(condition.key)
    if (same === undefined) keys.set(condition.key, [item])
    else same.push(item)
  }
  if (sample === undefined) return { rules: listed.map(({ ir }) => ir) }
  const next = new Set([...used, subject])
  const byKey = new Map<Key, Level>()
  for (const [key, items] of keys) {
    const level = buildLevel(inOrder([...items, ...others]), next, budget)
    if (level === undefined) return undefined
    byKey.set(key, level)
  }
  const rest = buildLevel(others, next, budget)
  if (rest === undefined) return undefined
  return { operand: sample.operand, path: sample.path, byKey, others: rest }
}

function inOrder(listed: readonly Listed[]): Listed[] {
  return listed.toSorted((a, b) => a.at - b.at)
}

function mostCompared(listed: readonly Listed[], used: ReadonlySet<string>): string | undefined {
  const counts = new Map<string, number>()
  for (const { conditions } of listed)
    for (const subject of conditions.keys())
      if (!used.has(subject)) counts.set(subject, (counts.get(subject) ?? 0) + 1)
  let best: string | undefined
  for (const [subject, count] of counts)
    if (count > 1 && (best === undefined || count > (counts.get(best) ?? 0))) best = subject
  return best
}

/**
 * Returns the conditions under which a rule can be skipped; none if skipping it would skip an
 * `else`.
 */
function conditionsOf(ir: RuleIR): ReadonlyMap<string, Condition> {
  const found = new Map<string, Condition>()
  const { definition } = ir
  if (definition === undefined || definition.elseBranch !== undefined) return found
  for (const goal of definition.body) {
    const condition = goal.with.length === 0 ? conditionOf(ir, goal) : undefined
    if (condition !== undefined && !found.has(condition.subject))
      found.set(condition.subject, condition)
  }
  return found
}

function conditionOf(ir: RuleIR, goal: Goal): Condition | undefined {
  if (goal.type === 'unify') return comparisonOf(ir, goal.left, goal.right)
  if (goal.type !== 'test' || goal.term.type !== 'call' || goal.term.name !== 'equal')
    return undefined
  const [left, right] = goal.term.operands
  return left === undefined || right === undefined ? undefined : comparisonOf(ir, left, right)
}

function comparisonOf(ir: RuleIR, left: Expression, right: Expression): Condition | undefined {
  if (right.type === 'constant') return subjectOf(ir, left, right.value)
  return left.type === 'constant' ? subjectOf(ir, right, left.value) : undefined
}

function subjectOf(ir: RuleIR, subject: Expression, value: Value): Condition | undefined {
  const key = keyOf(value)
  if (subject.type === 'var') {
    const operand = ir.parameters.indexOf(subject.variable)
    return operand === -1 ? undefined : { subject: String(operand), operand, path: [], key }
  }
  if (subject.type !== 'reference' || subject.root === 'data') return undefined
  const path = constantPath(subject.path)
  if (path === undefined) return undefined
  if (subject.root === 'input')
    return { subject: `input${JSON.stringify(path.map(String))}`, operand: undefined, path, key }
  if (subject.root.type !== 'var') return undefined
  const operand = ir.parameters.indexOf(subject.root.variable)
  if (operand === -1) return undefined
  return { subject: `${operand}${JSON.stringify(path.map(String))}`, operand, path, key }
}

function constantPath(path: readonly Expression[]): readonly Value[] | undefined {
  const keys: Value[] = []
  for (const item of path) {
    // Only strings, so that the names of different paths are distinct.
    if (item.type !== 'constant' || typeof item.value !== 'string') return undefined
    keys.push(item.value)
  }
  return keys
}
