import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { writeBundle, type PolicyBundle } from './bundle.ts'
import type { SetManifest } from './set-manifest.ts'
import { normalizePath, type ArchiveFiles } from './tar.ts'

/** What the host does with bytes. */
export interface ArchiveHost {
  /** Unpacks gzip up to so many bytes; else why not. */
  readonly unzip: (bytes: Uint8Array, bytesMax: number) => Result<Uint8Array, string>
  /** Throws where the bytes are no UTF-8. */
  readonly decode: (bytes: Uint8Array) => string
  readonly encode: (text: string) => Uint8Array
  readonly sha256: (bytes: Uint8Array) => string
}

/** The files of a set, and what its manifest says of them. */
export interface SetFiles {
  readonly kind: v2.PolicyKind
  readonly folder: string
  readonly files: ArchiveFiles
  readonly host: ArchiveHost
  readonly manifest: Pick<SetManifest, 'modules' | 'statics'>
}

interface ListedPolicy {
  readonly name: string
  readonly source: string | undefined
}

/** The code of a policy, with what it may import where there is any such thing. */
export function bundledCode(set: SetFiles, policy: ListedPolicy): Result<string, string> {
  return set.kind === 'native' ? nativeCode(set, policy) : opaCode(set, policy)
}

function nativeCode(set: SetFiles, { name, source }: ListedPolicy): Result<string, string> {
  const code = readSource(set, source ?? `./${name}${v2.POLICY_FILE_SUFFIXES.native}`)
  if (!code.ok) return code
  const modules = new Map<string, string>()
  const statics = new Map<string, string>()
  // Texts whose imports are still to be looked at.
  const waiting = [code.value]
  for (let text = waiting.pop(); text !== undefined; text = waiting.pop()) {
    for (const [module, path] of importedBy(text, set.manifest.modules)) {
      if (modules.has(module)) continue
      const read = readSource(set, path)
      if (!read.ok) return err(`module "${module}", ${read.error}`)
      modules.set(module, read.value)
      waiting.push(read.value)
    }
    for (const [data, path] of importedBy(text, set.manifest.statics)) {
      const read = readData(set, path)
      if (!read.ok) return err(`static data "${data}", ${read.error}`)
      statics.set(data, read.value)
    }
  }
  if (modules.size + statics.size === 0) return code
  return bounded({ code: code.value, modules: [...modules], statics: [...statics], libraries: [] })
}

/** What a text names in quotes: an import does, and a little too much does no harm. */
function importedBy(
  text: string,
  named: ReadonlyMap<string, string>,
): readonly (readonly [string, string])[] {
  return [...named].filter(([name]) => text.includes(`"${name}"`) || text.includes(`"${name}/`))
}

/** All files of a set are loaded together. */
function opaCode(set: SetFiles, { name, source }: ListedPolicy): Result<string, string> {
  const libraries = new Map<string, string>()
  for (const path of regoFiles(set)) {
    const read = readFile(set, path)
    if (!read.ok) return err(`file ${path}: ${read.error}`)
    libraries.set(path, read.value)
  }
  const file = source ?? `./${name}${v2.POLICY_FILE_SUFFIXES.opa}`
  const own = normalizePath(`${set.folder}/${file}`) ?? ''
  // Without a source the rules that are asked may stand in any of the files.
  const isElsewhere = source === undefined && !set.files.has(own) && libraries.size > 0
  const code = isElsewhere ? ok('') : readSource(set, file)
  if (!code.ok) return code
  libraries.delete(own)
  if (libraries.size === 0) return code
  return bounded({ code: code.value, modules: [], statics: [], libraries: [...libraries] })
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

function readData(set: SetFiles, source: string): Result<string, string> {
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
  return codeText(bytes, host.decode)
}

function bounded(bundled: PolicyBundle): Result<string, string> {
  const bundle = writeBundle(bundled)
  if (bundle.length <= v2.POLICY_UPLOAD_BYTES_MAX) return ok(bundle)
  return err(`with what it imports it is larger than ${v2.POLICY_UPLOAD_BYTES_MAX} bytes`)
}

/** The code of a policy as text; else why it is none. */
export function codeText(
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
