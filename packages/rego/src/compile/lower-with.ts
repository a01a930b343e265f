import type { Term, With } from '../syntax/tree.ts'
import type { FunctionReplacement, Replacement } from './ir.ts'
import { findNode } from './tree.ts'
import { findCallee, nameSegments, type FoundCallee } from './lower-call.ts'
import { lowerTerm, type GoalBuilder } from './lower-term.ts'
import { findGlobal, findLocal } from './scope.ts'
import { throwCompileError } from './unit.ts'

/** Values of replacements are evaluated before the goal, without them. */
export function lowerWith(sink: GoalBuilder, modifiers: readonly With[]): readonly Replacement[] {
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
