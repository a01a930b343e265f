import type { CallTerm, Term } from '../syntax/tree.ts'
import type { Callee, VirtualDocument } from './ir.ts'
import { findNode } from './tree.ts'
import { findGlobal, findLocal, type Lowering, type Scope } from './scope.ts'
import { throwCompileError } from './unit.ts'

export interface FoundCallee {
  readonly name: string
  readonly callee: Callee
  readonly arity: number
}

export function lowerCallee(lowering: Lowering, scope: Scope, term: CallTerm): FoundCallee {
  const found = findCallee(lowering, scope, term.name)
  if (found !== undefined) {
    if (found.callee.type === 'function' && lowering.ir !== undefined)
      lowering.ir.group.reads.set(found.callee.group, { source: lowering.unit.source, at: term.at })
    return found
  }
  return throwCompileError(
    { source: lowering.unit.source, at: term.at, code: 'rego_type_error' },
    `undefined function ${(absolute(lowering, term.name) ?? term.name).join('.')}`,
  )
}

/** The function or builtin of a name, if it is one. */
export function findCallee(
  lowering: Lowering,
  scope: Scope,
  name: readonly string[],
): FoundCallee | undefined {
  const [first = ''] = name
  if (findLocal(scope, first) !== undefined) return undefined
  const path = absolute(lowering, name)
  if (path === undefined) return findBuiltin(lowering, name.join('.'))
  if (path[0] !== 'data') return undefined
  const group = findNode(lowering.compilation.root, path.slice(1))?.group
  if (group === undefined || !isCallable(group)) return undefined
  return { name: group.name, callee: { type: 'function', group }, arity: group.arity }
}

function isCallable(group: VirtualDocument): boolean {
  if (group.kind === 'function') return true
  return group.kind === 'complete' && group.rules.some(({ rule }) => rule.parameters !== undefined)
}

function absolute(lowering: Lowering, name: readonly string[]): readonly string[] | undefined {
  const [first = '', ...rest] = name
  const global = findGlobal(lowering, first)
  return global === undefined ? undefined : [...global, ...rest]
}

function findBuiltin(lowering: Lowering, name: string): FoundCallee | undefined {
  const builtin = lowering.compilation.builtins.get(name)
  if (builtin === undefined) return undefined
  if (builtin.isDeprecated && lowering.unit.version === 1) return undefined
  return { name, callee: { type: 'builtin', builtin }, arity: builtin.operands.length }
}

/** `a.b.c` as segments when all of it is constant. */
export function nameSegments(term: Term): readonly string[] | undefined {
  if (term.type === 'var') return [term.name]
  if (term.type !== 'ref' || term.head.type !== 'var') return undefined
  const segments = [term.head.name]
  for (const item of term.path) {
    if (item.type !== 'scalar' || typeof item.value !== 'string') return undefined
    segments.push(item.value)
  }
  return segments
}
