/** The Debian package, written without Debian's tools. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { createAr, withParentDirectories, fileEntry, createTar, xz, type Entry } from './archive.ts'
import type { Package } from './system-package.ts'

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' } as const
const DEPENDS = 'libc6 (>= 2.28), libatomic1, libgcc-s1, libstdc++6 (>= 5)'

export function debName({ stamp }: Package): string {
  return `reeve_${stamp.version}_${ARCHITECTURES[stamp.target.arch]}.deb`
}

export function debOf(given: Package): Buffer {
  const { stamp, scripts } = given
  const entries = withParentDirectories([...given.entries, ...debianFiles(given)])
  const control = createTar(
    [
      fileEntry('control', controlText(given, entries)),
      fileEntry('conffiles', given.configuration.map((path) => `/${path}\n`).join('')),
      fileEntry('md5sums', md5sums(entries)),
      fileEntry('postinst', scripts.postinst, 0o755),
      fileEntry('prerm', scripts.prerm, 0o755),
      fileEntry('postrm', scripts.postrm, 0o755),
    ],
    stamp.epoch,
    './',
  )
  return createAr(
    [
      ['debian-binary', Buffer.from('2.0\n')],
      ['control.tar.xz', xz(control)],
      ['data.tar.xz', xz(createTar(entries, stamp.epoch, './'))],
    ],
    stamp.epoch,
  )
}

function controlText({ stamp, summary, description }: Package, entries: readonly Entry[]): string {
  const size = entries.reduce((sum, { data }) => sum + Math.ceil(data.length / 1024), 0)
  const long = description.map((line) => ` ${line === '' ? '.' : line}`).join('\n')
  return `Package: reeve
Version: ${stamp.version}
Architecture: ${ARCHITECTURES[stamp.target.arch]}
Maintainer: The Reeve authors <packages@reeve.invalid>
Installed-Size: ${size}
Depends: ${DEPENDS}
Recommends: iproute2, nftables
Section: admin
Priority: optional
Homepage: https://github.com/reeve/reeve
Description: ${summary}
${long}
`
}

function md5sums(entries: readonly Entry[]): string {
  const files = entries.filter(({ kind }) => kind === 'file')
  return files
    .map(({ path, data }) => `${createHash('md5').update(data).digest('hex')}  ${path}\n`)
    .join('')
}

/** Files that Debian policy requires in addition to the program. */
function debianFiles({ stamp }: Package): Entry[] {
  const date = new Date(stamp.epoch * 1_000).toUTCString().replace('GMT', '+0000')
  const changelog = `reeve (${stamp.version}) unstable; urgency=medium

  * See CHANGELOG.md for the changes of this version.

 -- The Reeve authors <packages@reeve.invalid>  ${date}
`
  const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: reeve
Source: https://github.com/reeve/reeve
Comment: The licences of the parts that this package contains are in /usr/lib/reeve/NOTICE.

Files: *
Copyright: ${new Date(stamp.epoch * 1_000).getUTCFullYear()} The Reeve authors
License: Apache-2.0
 The full text is in /usr/share/common-licenses/Apache-2.0.
`
  const overrides = [
    'embedded-library',
    'statically-linked-binary',
    'hardening-no-pie',
    'hardening-no-fortify-functions',
    'unstripped-binary-or-object',
    'custom-library-search-path',
    'shared-library-lacks-prerequisites',
    'maintainer-script-calls-systemctl',
    'extra-license-file',
    'package-contains-documentation-outside-usr-share-doc',
    'national-encoding',
    'initial-upload-closes-no-bugs',
    'bogus-mail-host',
    'non-standard-dir-perm',
    'non-standard-file-perm',
  ]
  const comment = `# Node brings its libraries, the task helper runs on roots without any,
# and only the group reeve may read the configuration.
`
  return [
    fileEntry('usr/share/doc/reeve/changelog.gz', gzipSync(changelog, { level: 9 })),
    fileEntry('usr/share/doc/reeve/copyright', copyright),
    fileEntry(
      'usr/share/lintian/overrides/reeve',
      `${comment}${overrides.map((tag) => `reeve: ${tag}\n`).join('')}`,
    ),
  ]
}
