/**
 * `npm run release-figures -- DIR`: sizes, times and memory of the release that was built into DIR,
 * and of this checkout, taken in turns.
 */
import { resolve } from 'node:path'
import { figuresTable, measureRelease } from './release/figures.ts'
import { openRelease } from './release/opened.ts'

const [folder = 'dist'] = process.argv.slice(2)
const release = await openRelease(resolve(folder))
try {
  console.log(figuresTable(await measureRelease(release.file('.tar.xz'), release.installation)))
} finally {
  release.close()
}
