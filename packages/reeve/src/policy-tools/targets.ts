import { dirname, join, resolve } from 'node:path'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { filesBelow, isDirectory, namesIn, readText, type TextFile } from './files.ts'
import { fileProblem, type ToolProblem } from './problem.ts'
import {
  findManifest,
  NOTHING,
  resolveSource,
  surroundingsOf,
  type LoadedManifest,
  type Surroundings,
} from './surroundings.ts'

/** A native policy with what its set brings. */
export interface NativeTarget {
  readonly policy: TextFile
  readonly base: Surroundings
}

/** Everything that paths on a command line stand for. */
export interface Targets {
  readonly native: readonly NativeTarget[]
  /** All together: modules may use each other. */
  readonly rego: readonly TextFile[]
  /** Of sets of kind `opa`: what their policies are asked. */
  readonly queries: readonly { readonly name: string; readonly query: string }[]
}

const NATIVE_SUFFIX = '.native'
const REGO_SUFFIX = '.rego'

/**
 * A file is a policy: `*.rego` of kind opa, any other native. A directory stands for the policies
 * that its set's file lists, its `*.native`, and every `*.rego` below it.
 */
export async function findTargets(
  paths: readonly string[],
): Promise<Result<Targets, readonly ToolProblem[]>> {
  const finder = new Finder()
  for (const path of paths) await finder.add(path)
  if (finder.problems.length > 0) return err(finder.problems)
  const { native, rego, queries } = finder
  if (native.size + rego.size === 0)
    return err([fileProblem(paths.join(' '), 'There is no policy: no *.native and no *.rego.')])
  return ok({ native: [...native.values()], rego: [...rego.values()], queries })
}

class Finder {
  readonly problems: ToolProblem[] = []
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
    for (const name of await namesIn(path))
      if (name.endsWith(NATIVE_SUFFIX)) await this.#native(join(path, name), set)
    for (const file of await filesBelow(path, REGO_SUFFIX)) await this.#rego(file)
    const manifest = await findManifest(path, 'opa')
    if (!manifest.ok) return void this.problems.push(...manifest.error)
    for (const { name, query } of manifest.value?.manifest.policies ?? [])
      if (query !== undefined) this.queries.push({ name, query })
  }

  async #native(path: string, { base, params }: NativeSet): Promise<void> {
    const key = resolve(path)
    if (this.native.has(key) || path.endsWith(REGO_SUFFIX)) return
    const text = await readText(path)
    if (!text.ok) return void this.problems.push(text.error)
    const own = new Map([...base.params, ...(params.get(key) ?? [])])
    const policy = { file: path, text: text.value }
    this.native.set(key, { policy, base: { ...base, params: own } })
  }

  async #rego(path: string): Promise<void> {
    const text = await readText(path)
    if (text.ok) this.rego.set(resolve(path), { file: path, text: text.value })
    else this.problems.push(text.error)
  }

  async #set(directory: string): Promise<NativeSet> {
    const key = resolve(directory)
    const known = this.#sets.get(key)
    if (known !== undefined) return known
    const made = await this.#loadSet(directory)
    this.#sets.set(key, made)
    return made
  }

  async #loadSet(directory: string): Promise<NativeSet> {
    const found = await findManifest(directory, 'native')
    if (!found.ok) this.problems.push(...found.error)
    if (!found.ok || found.value === undefined) return NO_SET
    const base = await surroundingsOf(found.value, NOTHING)
    if (base.ok) return nativeSet(found.value, base.value)
    this.problems.push(...base.error)
    return NO_SET
  }
}

interface NativeSet {
  readonly base: Surroundings
  /** The policies that the set lists. */
  readonly files: readonly string[]
  /** Parameters of single policies, by absolute path. */
  readonly params: ReadonlyMap<string, Surroundings['params']>
}

const NO_SET: NativeSet = { base: NOTHING, files: [], params: new Map() }

function nativeSet({ file, manifest }: LoadedManifest, base: Surroundings): NativeSet {
  const found = manifest.policies.flatMap(({ name, source, params }) => {
    const path = resolveSource(file, source ?? `${name}${NATIVE_SUFFIX}`)
    return path.ok ? [{ path: path.value, params }] : []
  })
  return {
    base,
    files: found.map(({ path }) => path),
    params: new Map(found.map(({ path, params }) => [resolve(path), params])),
  }
}
