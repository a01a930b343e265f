import { dirname, join, resolve } from 'node:path'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { findFiles, isDirectory, listDirectory, readText, type TextFile } from './files.ts'
import { fileProblem, type ToolDiagnostic } from './report.ts'
import {
  findManifest,
  EMPTY_ENVIRONMENT,
  resolveSource,
  loadEnvironment,
  type LoadedManifest,
  type PolicyEnvironment,
} from './environment.ts'

/** A native policy with the environment of its set. */
export interface NativeTarget {
  readonly policy: TextFile
  readonly environment: PolicyEnvironment
}

/** All policies that the paths on a command line refer to. */
export interface Targets {
  readonly native: readonly NativeTarget[]
  /** All Rego modules together, because modules may import each other. */
  readonly rego: readonly TextFile[]
  /** Queries of the policies in `opa` sets. */
  readonly queries: readonly { readonly name: string; readonly query: string }[]
}

const NATIVE_SUFFIX = '.native'
const REGO_SUFFIX = '.rego'

/**
 * Finds the policies of the given paths. A `*.rego` file is a Rego policy, any other file a native
 * one. A directory refers to the policies in its manifest, its `*.native` files, and all `*.rego`
 * files below it.
 */
export async function findTargets(
  paths: readonly string[],
): Promise<Result<Targets, readonly ToolDiagnostic[]>> {
  const finder = new TargetFinder()
  for (const path of paths) await finder.add(path)
  if (finder.problems.length > 0) return err(finder.problems)
  const { native, rego, queries } = finder
  if (native.size + rego.size === 0)
    return err([fileProblem(paths.join(' '), 'There is no policy: no *.native and no *.rego.')])
  return ok({ native: [...native.values()], rego: [...rego.values()], queries })
}

class TargetFinder {
  readonly problems: ToolDiagnostic[] = []
  readonly native = new Map<string, NativeTarget>()
  readonly rego = new Map<string, TextFile>()
  readonly queries: { name: string; query: string }[] = []
  readonly #sets = new Map<string, NativeSet>()

  async add(path: string): Promise<void> {
    if (await isDirectory(path)) return await this.#directory(path)
    if (path.endsWith(REGO_SUFFIX)) return await this.#rego(path)
    await this.#native(path, await this.#set(dirname(path)))
  }

  async #directory(path: string): Promise<void> {
    const set = await this.#set(path)
    for (const file of set.files) await this.#native(file, set)
    for (const name of await listDirectory(path))
      if (name.endsWith(NATIVE_SUFFIX)) await this.#native(join(path, name), set)
    for (const file of await findFiles(path, REGO_SUFFIX)) await this.#rego(file)
    const manifest = await findManifest(path, 'opa')
    if (!manifest.ok) return void this.problems.push(...manifest.error)
    for (const { name, query } of manifest.value?.manifest.policies ?? [])
      if (query !== undefined) this.queries.push({ name, query })
  }

  async #native(path: string, { environment, params }: NativeSet): Promise<void> {
    const key = resolve(path)
    if (this.native.has(key) || path.endsWith(REGO_SUFFIX)) return
    const text = await readText(path)
    if (!text.ok) return void this.problems.push(text.error)
    const ownParams = new Map([...environment.params, ...(params.get(key) ?? [])])
    const policy = { file: path, text: text.value }
    this.native.set(key, { policy, environment: { ...environment, params: ownParams } })
  }

  async #rego(path: string): Promise<void> {
    const text = await readText(path)
    if (text.ok) this.rego.set(resolve(path), { file: path, text: text.value })
    else this.problems.push(text.error)
  }

  async #set(directory: string): Promise<NativeSet> {
    const key = resolve(directory)
    const cached = this.#sets.get(key)
    if (cached !== undefined) return cached
    const loaded = await this.#loadSet(directory)
    this.#sets.set(key, loaded)
    return loaded
  }

  async #loadSet(directory: string): Promise<NativeSet> {
    const found = await findManifest(directory, 'native')
    if (!found.ok) this.problems.push(...found.error)
    if (!found.ok || found.value === undefined) return EMPTY_SET
    const environment = await loadEnvironment(found.value, EMPTY_ENVIRONMENT)
    if (environment.ok) return toNativeSet(found.value, environment.value)
    this.problems.push(...environment.error)
    return EMPTY_SET
  }
}

interface NativeSet {
  readonly environment: PolicyEnvironment
  /** Paths of the policies that the manifest lists. */
  readonly files: readonly string[]
  /** Parameters of single policies, by absolute path. */
  readonly params: ReadonlyMap<string, PolicyEnvironment['params']>
}

const EMPTY_SET: NativeSet = { environment: EMPTY_ENVIRONMENT, files: [], params: new Map() }

function toNativeSet(
  { file, manifest }: LoadedManifest,
  environment: PolicyEnvironment,
): NativeSet {
  const found = manifest.policies.flatMap(({ name, source, params }) => {
    const path = resolveSource(file, source ?? `${name}${NATIVE_SUFFIX}`)
    return path.ok ? [{ path: path.value, params }] : []
  })
  return {
    environment,
    files: found.map(({ path }) => path),
    params: new Map(found.map(({ path, params }) => [resolve(path), params])),
  }
}
