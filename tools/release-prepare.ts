/**
 * `npm run release-prepare -- VERSION`: folds the fragments of `changes/` into `CHANGELOG.md`,
 * removes them, and sets the version of every package. Review and commit the result, and tag it.
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { foldFragments, readFragments, withVersion } from './release/fragments.ts'
import { REPOSITORY_ROOT as root } from './source/finding.ts'

const [version = ''] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?$/.test(version)) {
  console.error('Usage: npm run release-prepare -- VERSION')
  process.exit(2)
}
const fragments = readFragments(join(root, 'changes'))
const changelog = join(root, 'CHANGELOG.md')
const text = withVersion(fs.readFileSync(changelog, 'utf8'), version, foldFragments(fragments))
fs.writeFileSync(changelog, text)
for (const { slug } of fragments) fs.rmSync(join(root, 'changes', `${slug}.md`))
const files = setVersions(version)
console.log(
  `${fragments.length} fragments in CHANGELOG.md, ${files} files with version ${version}.`,
)

/** In every package of the workspace, and in the entries that the lock has for them. */
function setVersions(to: string): number {
  const folders = fs.readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)
  const manifests = ['.', ...folders].map((folder) => join(root, folder, 'package.json'))
  for (const file of manifests) {
    const content = fs.readFileSync(file, 'utf8')
    fs.writeFileSync(file, content.replace(/^ {2}"version": "[^"]+"/m, `  "version": "${to}"`))
  }
  const file = join(root, 'package-lock.json')
  const lock: { version: string; packages: Record<string, { version?: string }> } = JSON.parse(
    fs.readFileSync(file, 'utf8'),
  )
  lock.version = to
  for (const folder of ['', ...folders]) {
    const entry = lock.packages[folder]
    if (entry !== undefined) entry.version = to
  }
  fs.writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
  return manifests.length + 1
}
