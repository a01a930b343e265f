/**
 * `node tools/screenshots.ts [folder] [--only=name,…]`: runs the real program with one of
 * everything and takes a picture of every page, light and dark, 1280 and 390 pixels wide, into
 * `docs/screenshots` or the given folder. Prints what axe finds on each. Needs Chromium and a built
 * web UI.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { findBarriers, settle, startBrowser } from '../packages/web/test/browser.ts'
import { startProgram } from '../packages/web/test/program.ts'
import { makeSite } from '../packages/web/test/site.ts'
import { fillCluster } from './screenshots/cluster.ts'
import { findShots } from './screenshots/pages.ts'
import { withPalette } from './screenshots/palette-png.ts'

const [folder = 'docs/screenshots'] = process.argv.slice(2).filter((one) => !one.startsWith('--'))
const only = process.argv.find((one) => one.startsWith('--only='))?.slice('--only='.length)
const WIDTHS = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
]
const THEMES = ['light', 'dark'] as const
/** What is drawn after the page was read: charts, the editor, lines of a log. */
const DRAWN_MS = 700

const [program, browser] = await Promise.all([startProgram(['--acl']), startBrowser()])
try {
  mkdirSync(folder, { recursive: true })
  const site = await makeSite(program)
  await fillCluster(program.address, site.manager)
  const session = { workload: site.manager, governance: site.manager }
  const shots = await findShots(program.address, site)
  const wanted = only === undefined ? undefined : new Set(only.split(','))
  for (const [name, href] of shots.filter(([one]) => wanted?.has(one) ?? true))
    await browser.within(name === 'sign-in' ? {} : session, async (page) => {
      console.log(`${name}\t${href}\t${await takeAll(page, { name, url: program.address + href })}`)
    })
} finally {
  await browser.close()
  await program.stop()
}

interface Taken {
  readonly name: string
  readonly url: string
}

/** All pictures of a page; gives what axe says of it. */
async function takeAll(page: Page, { name, url }: Taken): Promise<string> {
  const barriers: string[] = []
  for (const size of WIDTHS) {
    await page.setViewportSize(size)
    await page.goto(url)
    await settle(page)
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme })
      await wait(DRAWN_MS)
      const path = join(folder, `${name}-${size.width}-${colorScheme}.png`)
      writeFileSync(path, withPalette(await page.screenshot()))
      if (size.width === 1280) barriers.push(...(await findBarriers(page)))
    }
  }
  return barriers.length === 0 ? 'none' : barriers.join(', ')
}
