import type { HostVolumeInput } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { decodeBody, createScope, type Diagnostic } from '@reeve/hcl'
import { buildRecord } from './build/build.ts'
import { sortBySource, createDiagnosticList } from './diagnostics.ts'
import { JOB_FILE_STEPS_MAX } from './limits.ts'
import { parseSource, type SourceFile } from './source.ts'
import { VOLUME } from './schema/volume.ts'

/** Roots of node properties. */
const NODE_ROOTS: ReadonlySet<string> = new Set(['attr', 'meta', 'node'])

const isDeferred = (root: string): boolean => NODE_ROOTS.has(root)

/**
 * Parses the file that describes one dynamic host volume. References such as `${attr.kernel.name}`
 * in constraints are compared on the servers, and stay text.
 */
export function parseVolumeFile(file: SourceFile): Result<HostVolumeInput, readonly Diagnostic[]> {
  const body = parseSource(file)
  if (!body.ok) return body
  const scope = createScope({ isDeferred, limits: { stepsMax: JOB_FILE_STEPS_MAX } })
  const decoded = decodeBody(body.value, VOLUME.schema, { scope })
  if (!decoded.ok) return err(decoded.error)
  const findings = createDiagnosticList()
  const source = { labels: [], body: decoded.value, headerSpan: body.value.anchor }
  const building = { findings, places: new WeakMap(), meter: scope.meter }
  const record = buildRecord(source, VOLUME, building)
  if (findings.errors.length > 0) return err(sortBySource(findings.errors))
  const written = Object.entries(record).filter(([, value]) => value !== null)
  // Proof: the table names only fields of the contract and reads each as its declared kind; the
  // server validates the request against the contract's schema.
  return ok(Object.fromEntries(written) as HostVolumeInput)
}
