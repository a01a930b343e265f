/** The content of operating system packages, common to deb and rpm. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { directoryEntry, fileEntry, linkEntry, type Entry } from './archive.ts'
import type { ReleaseStamp } from './stamp.ts'

export interface Package {
  readonly stamp: ReleaseStamp
  readonly summary: string
  readonly description: readonly string[]
  readonly entries: readonly Entry[]
  /** Files that an upgrade keeps if they have been edited. */
  readonly configuration: readonly string[]
  readonly scripts: { readonly postinst: string; readonly prerm: string; readonly postrm: string }
}

const HOME = 'usr/lib/reeve'
const CONFIGURATION = 'etc/reeve.d/reeve.hcl'

/** The installation with the places where a system looks for commands, units and pages. */
export function systemPackage(
  root: string,
  stamp: ReleaseStamp,
  installation: readonly Entry[],
): Package {
  const read = (file: string): string => fs.readFileSync(join(root, 'packaging', file), 'utf8')
  const isShared = ({ path }: Entry): boolean => path === 'share' || path.startsWith('share/')
  const own = installation.filter((entry) => !isShared(entry) && !entry.path.startsWith('docs'))
  const shared = installation.filter((entry) => isShared(entry) && entry.kind === 'file')
  const docs = installation.filter(({ path, kind }) => path.startsWith('docs/') && kind === 'file')
  return {
    stamp,
    summary: 'workload scheduler and policy service in one program',
    description: [
      'Reeve says what may run, and runs it: a scheduler for jobs, node agents, and',
      'policies for jobs and infrastructure plans, in one program.',
      'This package contains server, node agent and command line.',
    ],
    entries: [
      ...own.map((entry) => ({ ...entry, path: `${HOME}/${entry.path}` })),
      linkEntry('usr/bin/reeve', '../lib/reeve/bin/reeve'),
      linkEntry(`${HOME}/docs`, '../../share/doc/reeve/docs'),
      ...docs.map((entry) => ({ ...entry, path: `usr/share/doc/reeve/${entry.path}` })),
      ...shared.map(placed),
      fileEntry(CONFIGURATION, read('examples/reeve.hcl'), 0o640),
      directoryEntry('etc/reeve.d', 0o750),
      directoryEntry('etc/reeve.d/server', 0o750),
      directoryEntry('etc/reeve.d/agent', 0o750),
    ],
    configuration: [CONFIGURATION],
    scripts: {
      postinst: read('postinst.sh'),
      prerm: read('prerm.sh'),
      postrm: read('postrm.sh'),
    },
  }
}

/** From `share/` of the installation to where the system has such files. */
function placed(entry: Entry): Entry {
  const { path, data } = entry
  if (path.startsWith('share/systemd/') && path.endsWith('.service'))
    return { ...entry, path: path.replace('share/systemd', 'usr/lib/systemd/system') }
  if (path.endsWith('.sysusers')) return { ...entry, path: 'usr/lib/sysusers.d/reeve.conf' }
  if (/^share\/(?:examples|monitoring)\//.test(path))
    return { ...entry, path: path.replace('share', 'usr/share/doc/reeve') }
  if (path.startsWith('share/man/'))
    return { ...entry, path: `usr/${path}.gz`, data: gzipSync(data, { level: 9 }) }
  return { ...entry, path: `usr/${path}` }
}
