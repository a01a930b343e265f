import { TEST_CASE } from '../builtins/tracing.ts'
import type { Literal, Rule, Term } from '../syntax/tree.ts'

/**
 * The rule of an object, changed so that an evaluation tells of every key for which its body is
 * tried: `test_add[name] if { some name, t in cases; t.want == add(t.a, t.b) }` has an entry for
 * the cases that hold only, and a test has to name those that do not.
 */
export function withCases(rule: Rule): Rule {
  const [, ...keys] = rule.path
  const wanted = variablesOf(keys)
  const missing = new Set(wanted)
  let at = 0
  while (missing.size > 0 && at < rule.body.length) {
    const literal = rule.body[at]
    // Declared by `some` alone, a variable has no value yet.
    if (literal !== undefined && literal.type !== 'some')
      for (const name of variablesOf(literal)) missing.delete(name)
    at++
  }
  const told: Literal = { type: 'expression', term: caseCall(keys, rule.at), with: [], at: rule.at }
  return { ...rule, body: [...rule.body.slice(0, at), told, ...rule.body.slice(at)] }
}

function caseCall(keys: readonly Term[], at: number): Term {
  return {
    type: 'call',
    name: TEST_CASE.split('.'),
    operands: [{ type: 'array', items: keys, at }],
    at,
  }
}

/** The names of all variables in some part of a rule. */
function variablesOf(node: object): readonly string[] {
  if ('type' in node && node.type === 'var' && 'name' in node) return [String(node.name)]
  return Object.values(node).flatMap((part: unknown) =>
    typeof part === 'object' && part !== null ? variablesOf(part) : [],
  )
}
