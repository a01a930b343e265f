import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { writeBundle, type PolicyBundle } from './bundle.ts'
import type { PolicySetManifest } from './set-manifest.ts'
import { normalizePath, type ArchiveFiles } from './tar.ts'

/** Functions of the host for bytes: compression, text encoding and hashes. */
export interface ArchiveHost {
  /** Decompresses gzip data of at most `bytesMax` bytes, or returns why it cannot. */
  readonly unzip: (bytes: Uint8Array, bytesMax: number) => Result<Uint8Array, string>
  /** Throws a TypeError if the bytes are not valid UTF-8. */
  readonly decode: (bytes: Uint8Array) => string
  readonly encode: (text: string) => Uint8Array
  readonly sha256: (bytes: Uint8Array) => string
}

/** The files of a set and its manifest. */
export interface SetFiles {
  readonly kind: v2.PolicyKind
  readonly folder: string
  readonly files: ArchiveFiles
  readonly host: ArchiveHost
  readonly manifest: Pick<PolicySetManifest, 'modules' | 'statics'>
}

interface ListedPolicy {
  readonly name: string
  readonly source: string | undefined
}

/** Returns the code of a policy, bundled with its imports if it has any. */
export function bundlePolicyCode(set: SetFiles, policy: ListedPolicy): Result<string, string> {
  return set.kind === 'native' ? nativeCode(set, policy) : regoCode(set, policy)
}

function nativeCode(set: SetFiles, { name, source }: ListedPolicy): Result<string, string> {
  const code = readSource(set, source ?? `./${name}${v2.POLICY_FILE_SUFFIXES.native}`)
  if (!code.ok) return code
  const modules = new Map<string, string>()
  const statics = new Map<string, string>()
  // Texts whose imports have not been resolved yet.
  const pending = [code.value]
  for (let text = pending.pop(); text !== undefined; text = pending.pop()) {
    for (const [module, path] of referencedSources(text, set.manifest.modules)) {
      if (modules.has(module)) continue
      const read = readSource(set, path)
      if (!read.ok) return err(`module "${module}", ${read.error}`)
      modules.set(module, read.value)
      pending.push(read.value)
    }
    for (const [data, path] of referencedSources(text, set.manifest.statics)) {
      const read = readJsonSource(set, path)
      if (!read.ok) return err(`static data "${data}", ${read.error}`)
      statics.set(data, read.value)
    }
  }
  if (modules.size + statics.size === 0) return code
  return checkBundleSize({
    code: code.value,
    modules: [...modules],
    statics: [...statics],
    libraries: [],
  })
}

/**
 * Returns the sources whose names the text contains in quotes. The match may include sources that
 * are not imported, which is harmless.
 */
function referencedSources(
  text: string,
  named: ReadonlyMap<string, string>,
): readonly (readonly [string, string])[] {
  return [...named].filter(([name]) => text.includes(`"${name}"`) || text.includes(`"${name}/`))
}

/** All files of an `opa` set are compiled together. */
function regoCode(set: SetFiles, { name, source }: ListedPolicy): Result<string, string> {
  const libraries = new Map<string, string>()
  for (const path of regoFiles(set)) {
    const read = readFile(set, path)
    if (!read.ok) return err(`file ${path}: ${read.error}`)
    libraries.set(path, read.value)
  }
  const file = source ?? `./${name}${v2.POLICY_FILE_SUFFIXES.opa}`
  const ownPath = normalizePath(`${set.folder}/${file}`) ?? ''
  // Without a `source`, the queried rules may be in any file of the set.
  const isElsewhere = source === undefined && !set.files.has(ownPath) && libraries.size > 0
  const code = isElsewhere ? ok('') : readSource(set, file)
  if (!code.ok) return code
  libraries.delete(ownPath)
  if (libraries.size === 0) return code
  return checkBundleSize({ code: code.value, modules: [], statics: [], libraries: [...libraries] })
}

function regoFiles({ files, folder }: SetFiles): readonly string[] {
  const path = normalizePath(folder) ?? ''
  const prefix = path === '' ? '' : `${path}/`
  return [...files.keys()]
    .filter((file) => file.startsWith(prefix) && file.endsWith('.rego'))
    .filter((file) => !file.endsWith('_test.rego'))
    .toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
}

function readSource(set: SetFiles, source: string): Result<string, string> {
  const path = normalizePath(`${set.folder}/${source}`)
  const read = readFile(set, path ?? '')
  return read.ok ? read : err(`source ${source}: ${read.error}`)
}

function readJsonSource(set: SetFiles, source: string): Result<string, string> {
  const read = readSource(set, source)
  if (!read.ok) return read
  try {
    JSON.parse(read.value)
    return read
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return err(`source ${source}: it is no JSON: ${thrown.message}`)
  }
}

function readFile({ files, host }: SetFiles, path: string): Result<string, string> {
  const bytes = files.get(path)
  if (bytes === undefined) return err('the archive has no such file')
  if (bytes.length > v2.POLICY_UPLOAD_BYTES_MAX)
    return err(`the file is larger than ${v2.POLICY_UPLOAD_BYTES_MAX} bytes`)
  return decodeCode(bytes, host.decode)
}

function checkBundleSize(bundled: PolicyBundle): Result<string, string> {
  const bundle = writeBundle(bundled)
  if (bundle.length <= v2.POLICY_UPLOAD_BYTES_MAX) return ok(bundle)
  return err(`with what it imports it is larger than ${v2.POLICY_UPLOAD_BYTES_MAX} bytes`)
}

/** Decodes the code of a policy, or returns why it is not text. */
export function decodeCode(
  bytes: Uint8Array,
  decode: (bytes: Uint8Array) => string,
): Result<string, string> {
  if (bytes.includes(0)) return err('Policy code must not hold NUL bytes')
  try {
    return ok(decode(bytes))
  } catch (thrown) {
    if (thrown instanceof TypeError) return err('Policy code must be UTF-8 text')
    throw thrown
  }
}
