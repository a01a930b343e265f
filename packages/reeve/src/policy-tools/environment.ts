import { dirname, join } from 'node:path'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  compilePolicy,
  parseExactJson,
  standardImport,
  StaticImports,
  toLazyValue,
  type CompiledPolicy,
  type EvaluateOptions,
  type NativeDiagnostic,
  type JsonValue,
  type SourceFile,
  type StandardImportOptions,
  type Value,
} from '@reeve/native-policy'
import {
  importHint,
  hostGlobals,
  importAliases,
  isKnownImport,
  MANIFEST_FILES,
  readManifest,
  type Manifest,
  type ManifestMock,
} from '../policy/index.ts'
import { listDirectory, readText, STEPS_MAX } from './files.ts'
import { fileProblem, fromManifest, type ToolDiagnostic } from './report.ts'

/** Imports, modules and mocks of a native policy besides the standard imports. */
export interface PolicyEnvironment {
  readonly modules: ReadonlyMap<string, SourceFile>
  readonly statics: ReadonlyMap<string, JsonValue>
  readonly params: ReadonlyMap<string, JsonValue>
  readonly globals: ReadonlyMap<string, JsonValue>
  /** Imports that are mocked with data. */
  readonly mocks: ReadonlyMap<string, JsonValue>
}

export const EMPTY_ENVIRONMENT: PolicyEnvironment = {
  modules: new Map(),
  statics: new Map(),
  params: new Map(),
  globals: new Map(),
  mocks: new Map(),
}

export interface LoadedManifest {
  readonly file: string
  readonly manifest: Manifest
}

/**
 * Finds the manifest in a directory. Sets of other systems use other names: a single `*.hcl` file
 * that lists policies is accepted.
 */
export async function findManifest(
  directory: string,
  kind: 'native' | 'opa',
): Promise<Result<LoadedManifest | undefined, readonly ToolDiagnostic[]>> {
  const names = (await listDirectory(directory)).filter((name) => name.endsWith('.hcl'))
  const expectedName = MANIFEST_FILES[kind]
  const otherKindName = MANIFEST_FILES[kind === 'native' ? 'opa' : 'native']
  const [first, second] = names.filter((one) => one !== otherKindName)
  if (names.includes(expectedName)) return await loadManifest(join(directory, expectedName))
  if (kind === 'opa' || first === undefined || second !== undefined) return ok(undefined)
  const found = await loadManifest(join(directory, first))
  return ok(found.ok && found.value.manifest.policies.length > 0 ? found.value : undefined)
}

export async function loadManifest(
  file: string,
): Promise<Result<LoadedManifest, readonly ToolDiagnostic[]>> {
  const text = await readText(file)
  if (!text.ok) return err([text.error])
  const manifest = readManifest(file, text.value)
  if (!manifest.ok) return err(manifest.error.map((one) => fromManifest(one, text.value)))
  return ok({ file, manifest: manifest.value })
}

/** Reads the files that a set or a test names; its own settings override earlier ones. */
export async function loadEnvironment(
  { file, manifest }: LoadedManifest,
  base: PolicyEnvironment,
): Promise<Result<PolicyEnvironment, readonly ToolDiagnostic[]>> {
  const loader = new EnvironmentLoader(file, base)
  for (const [name, source] of manifest.modules) await loader.module(name, source)
  for (const [name, source] of manifest.statics) await loader.data(name, source)
  for (const [name, mock] of manifest.mocks)
    for (const path of importAliases(name))
      if (path === name || !manifest.mocks.has(path)) await loader.mock(path, mock)
  if (loader.problems.length > 0) return err(loader.problems)
  return ok({
    modules: loader.modules,
    statics: loader.statics,
    mocks: loader.mocks,
    params: new Map([...base.params, ...manifest.params]),
    globals: new Map([...base.globals, ...manifest.globals]),
  })
}

class EnvironmentLoader {
  readonly problems: ToolDiagnostic[] = []
  readonly modules: Map<string, SourceFile>
  readonly statics: Map<string, JsonValue>
  readonly mocks: Map<string, JsonValue>
  readonly #file: string

  constructor(file: string, base: PolicyEnvironment) {
    this.#file = file
    this.modules = new Map(base.modules)
    this.statics = new Map(base.statics)
    this.mocks = new Map(base.mocks)
  }

  async module(name: string, source: string): Promise<void> {
    const file = await this.#read(source)
    if (file !== undefined) this.modules.set(name, file)
  }

  /** Replaces an earlier import of the same path. */
  async mock(path: string, mock: ManifestMock): Promise<void> {
    this.mocks.delete(path)
    this.modules.delete(path)
    if (mock.kind === 'data') this.mocks.set(path, mock.value)
    else await this.module(path, mock.source)
  }

  async data(name: string, source: string): Promise<void> {
    const file = await this.#read(source)
    if (file === undefined) return
    try {
      this.statics.set(name, parseExactJson(file.text))
    } catch (thrown) {
      if (!(thrown instanceof SyntaxError)) throw thrown
      this.problems.push(fileProblem(file.file, `It is no JSON: ${thrown.message}.`))
    }
  }

  async #read(source: string): Promise<SourceFile | undefined> {
    const file = resolveSource(this.#file, source)
    if (!file.ok) {
      this.problems.push(fileProblem(this.#file, file.error))
      return undefined
    }
    const text = await readText(file.value)
    if (text.ok) return { file: file.value, text: text.value }
    this.problems.push(text.error)
    return undefined
  }
}

/** Resolves a source relative to the file that names it. Nothing is fetched over the network. */
export function resolveSource(file: string, source: string): Result<string, string> {
  if (/^[a-z][a-z0-9+.-]*:/i.test(source))
    return err(`The source ${source} is not on this machine: download it and name the file.`)
  return ok(join(dirname(file), source))
}

export function compileInEnvironment(
  policy: SourceFile,
  { modules, statics, mocks, globals }: PolicyEnvironment,
): Result<CompiledPolicy, readonly NativeDiagnostic[]> {
  const data = new StaticImports(statics)
  return compilePolicy(policy, {
    modules,
    isImport: (path) => mocks.has(path) || isKnownImport(path) || data.has(path),
    importHint: importHint,
    globals: [...new Set([...hostGlobals(policy.text), ...globals.keys()])],
  })
}

/**
 * Returns the options to evaluate a policy. `host` supplies the parts that the set does not define.
 */
export function evaluationOptions(
  { statics, mocks, params, globals }: PolicyEnvironment,
  settings: StandardImportOptions,
  host: (path: string) => Value | undefined = (path) => standardImport(path, settings),
): EvaluateOptions {
  const data = new StaticImports(statics)
  return {
    importValue: (path) =>
      mocks.has(path) ? toLazyValue(mocks.get(path)) : (host(path) ?? data.value(path)),
    params: toLazyValues(params),
    globals: toLazyValues(globals),
    stepsMax: STEPS_MAX,
  }
}

function toLazyValues(values: ReadonlyMap<string, JsonValue>): ReadonlyMap<string, Value> {
  return new Map([...values].map(([name, value]) => [name, toLazyValue(value)]))
}
