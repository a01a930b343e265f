/**
 * `node tools/screenshots.ts [folder] [--only=name,…] [--width=390] [--no-axe]`
 *
 * Runs the real program with one of everything and takes a picture of every page, light and dark,
 * 1280 and 390 pixels wide, into `screenshots` (not committed) or the given folder. Prints what axe
 * finds on each. Needs Chromium and a built web UI.
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

const [folder = 'screenshots'] = process.argv.slice(2).filter((one) => !one.startsWith('--'))
const only = process.argv.find((one) => one.startsWith('--only='))?.slice('--only='.length)
const isAxeAsked = !process.argv.includes('--no-axe')
const AT_ONCE = 3
const width = process.argv.find((one) => one.startsWith('--width='))?.slice('--width='.length)
const SIZES = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
].filter((size) => width === undefined || String(size.width) === width)
const THEMES = ['light', 'dark'] as const
/** Time for elements that are drawn after the page has loaded: charts, the editor, log lines. */
const DRAWN_MS = 500

const [program, browser] = await Promise.all([startProgram(['--acl']), startBrowser()])
try {
  mkdirSync(folder, { recursive: true })
  const site = await makeSite(program)
  await fillCluster(program.address, site.manager)
  const session = { workload: site.manager, governance: site.manager }
  const shots = await findShots(program.address, site)
  const wanted = only === undefined ? undefined : new Set(only.split(','))
  const waiting = shots.filter(([one]) => wanted?.has(one) ?? true)
  const work = async (): Promise<void> => {
    for (let shot = waiting.shift(); shot !== undefined; shot = waiting.shift()) {
      const [name, href] = shot
      const tokens = name === 'sign-in' ? {} : session
      await browser.within(tokens, async (page) => {
        const barriers = await takeAll(page, { name, url: program.address + href })
        console.log(`${name}\t${href}\t${barriers}`)
      })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
} finally {
  await browser.close()
  await program.stop()
}

interface Taken {
  readonly name: string
  readonly url: string
}

/** Takes all pictures of a page; returns the findings of axe. */
async function takeAll(page: Page, { name, url }: Taken): Promise<string> {
  const barriers: string[] = []
  for (const size of SIZES) {
    await page.setViewportSize(size)
    await page.goto(url)
    await settle(page)
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme })
      await wait(DRAWN_MS)
      const path = join(folder, `${name}-${size.width}-${colorScheme}.png`)
      writeFileSync(path, await page.screenshot())
      if (isAxeAsked && size.width === 1280) barriers.push(...(await findBarriers(page)))
    }
  }
  return barriers.length === 0 ? 'none' : barriers.join(', ')
}
