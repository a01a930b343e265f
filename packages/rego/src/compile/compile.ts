import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Builtin } from '../builtins/builtin.ts'
import { BUILTINS } from '../builtins/registry.ts'
import { PROBLEM_COUNT_MAX } from '../limits.ts'
import type { RegoVersion } from '../syntax/cursor.ts'
import { parseModule } from '../syntax/parse.ts'
import { RegoCompileError, Source, type RegoDiagnostic } from '../syntax/source.ts'
import type { Import, Module } from '../syntax/ast.ts'
import { collectRules } from './collect.ts'
import { lowerRule } from './lower-rule.ts'
import { createAnnotationReader } from './annotations.ts'
import { checkRecursion } from './checks.ts'
import { withCases } from './safety.ts'
import { makeNode } from './rule-tree.ts'
import { throwCompileError, type Compilation, type Unit } from './unit.ts'

export interface SourceFile {
  readonly file: string
  readonly text: string
}

export interface CompileOptions {
  readonly modules: readonly SourceFile[]
  /** Version 1 if omitted. `detect`: version 1, or 0 if only that parses. */
  readonly version?: RegoVersion | 'detect'
  /** Replaces all builtins. */
  readonly builtins?: ReadonlyMap<string, Builtin>
  /** Renames rules; called for each in source order. */
  readonly ruleName?: (rule: NamedRule) => string
  /** Whether evaluations report every key that an object rule tries, as `test-case` events. */
  readonly tellsCases?: (rule: NamedRule) => boolean
}

/** A rule that is neither a function nor a default. */
export interface NamedRule {
  readonly package: readonly string[]
  readonly name: string
  /** Contributes to a set or object. */
  readonly isPartial: boolean
}

export interface Compiled {
  readonly compilation: Compilation
  readonly units: readonly Unit[]
}

/** Parses the modules and compiles them together. */
export function compileModules(
  options: CompileOptions,
): Result<Compiled, readonly RegoDiagnostic[]> {
  const units: Unit[] = []
  const problems: RegoDiagnostic[] = []
  for (const { file, text } of options.modules) {
    const unit = readUnit(new Source(file, text), options)
    if (unit.ok) units.push(unit.value)
    else problems.push(unit.error)
  }
  if (problems.length > 0) return err(problems.slice(0, PROBLEM_COUNT_MAX))
  return checkUnits(units, options.builtins ?? BUILTINS)
}

function readUnit(source: Source, options: CompileOptions): Result<Unit, RegoDiagnostic> {
  const read = (wanted: RegoVersion): Result<Unit, RegoDiagnostic> => {
    const parsed = parseModule(source, wanted)
    if (!parsed.ok) return parsed
    return ok(makeUnit(source, wanted, changed(parsed.value, options)))
  }
  if (options.version !== 'detect') return read(options.version ?? 1)
  const first = read(1)
  if (first.ok) return first
  const second = read(0)
  return second.ok ? second : first
}

function changed(
  module: Module,
  { ruleName, tellsCases }: Pick<CompileOptions, 'ruleName' | 'tellsCases'>,
): Module {
  if (ruleName === undefined && tellsCases === undefined) return module
  const rules = module.rules.map((rule) => {
    const [head, ...rest] = rule.path
    if (rule.isDefault || rule.parameters !== undefined) return rule
    if (head?.type !== 'scalar' || typeof head.value !== 'string') return rule
    const isPartial = rest.length > 0 || rule.member !== undefined
    const named = { package: module.package, name: head.value, isPartial }
    const name = ruleName?.(named) ?? head.value
    const path = name === head.value ? rule.path : [{ ...head, value: name }, ...rest]
    const tells = rest.length > 0 && tellsCases?.(named) === true
    return tells ? withCases({ ...rule, path }) : { ...rule, path }
  })
  return { ...module, rules }
}

function makeUnit(source: Source, version: RegoVersion, module: Module): Unit {
  const imports = new Map<string, readonly string[]>()
  for (const item of module.imports) imports.set(importName(item), item.path)
  return { source, version, package: module.package, module, imports }
}

function importName({ path, alias }: Import): string {
  return alias ?? path.at(-1) ?? ''
}

/** In version 0 the last import of a name wins. */
function checkImports({ source, version, module }: Unit): void {
  if (version === 0) return
  const known = new Map<string, Import>()
  for (const item of module?.imports ?? []) {
    const name = importName(item)
    const before = known.get(name)
    if (before !== undefined)
      throwCompileError(
        { source, at: item.at },
        `import must not shadow import ${before.path.join('.')}`,
      )
    known.set(name, item)
  }
}

function checkUnits(
  units: readonly Unit[],
  builtins: ReadonlyMap<string, Builtin>,
): Result<Compiled, readonly RegoDiagnostic[]> {
  const problems: RegoDiagnostic[] = []
  const attempt = <T>(run: () => T): T | undefined => {
    try {
      return run()
    } catch (error) {
      if (!(error instanceof RegoCompileError)) throw error
      problems.push(error.problem)
      return undefined
    }
  }
  for (const unit of units) attempt(() => checkImports(unit))
  if (problems.length > 0) return err(problems.slice(0, PROBLEM_COUNT_MAX))
  const metadata = attempt(() => createAnnotationReader(units))
  if (metadata === undefined) return err(problems)
  const compilation: Compilation = {
    root: makeNode([]),
    groups: [],
    builtins,
    names: new Map(),
    metadata,
  }
  attempt(() => collectRules(compilation, units))
  if (problems.length > 0) return err(problems)
  const bySource = new Map(units.map((unit) => [unit.source, unit]))
  for (const group of compilation.groups)
    for (const ir of group.default === undefined ? group.rules : [...group.rules, group.default]) {
      const unit = bySource.get(ir.source)
      if (unit !== undefined) attempt(() => lowerRule(compilation, unit, ir))
      if (problems.length >= PROBLEM_COUNT_MAX) return err(problems)
    }
  if (problems.length === 0) attempt(() => checkRecursion(compilation.groups))
  return problems.length === 0 ? ok({ compilation, units }) : err(problems)
}
