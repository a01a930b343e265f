import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { paths } from '../src/paths.ts'
import { ADDRESSES } from './addresses.ts'
import {
  checkAccess,
  checkNarrow,
  follow,
  noBrowser,
  settle,
  startBrowser,
  type Browser,
} from './browser.ts'
import { startProgram, type Program } from './program.ts'
import { makeSite, ORGANIZATION, type Site } from './site.ts'

const skip = noBrowser

let program: Program
let browser: Browser
let site: Site

/** The tests of some pages of the site map: one file for all of them would run long and alone. */
export function walkPages(isWalked: (path: string) => boolean): void {
  const walked = Object.entries(ADDRESSES).filter(([path]) => isWalked(path))
  before(async () => {
    if (noBrowser !== false) return
    ;[program, browser] = await Promise.all([startProgram(['--acl']), startBrowser()])
    site = await makeSite(program)
  })
  after(async () => {
    if (noBrowser !== false) return
    await browser.close()
    await program.stop()
  })
  walkAsManager(walked)
  walkAsGuest(walked)
}

type Walked = readonly (readonly [path: string, addresses: (site: Site) => readonly string[]])[]

/** One tab: a page that is followed to costs a tenth of one that is loaded. */
function walkAsManager(walked: Walked): void {
  let page: Page
  let faults: readonly string[] = []
  describe('who may do everything', { skip }, () => {
    before(async () => {
      page = await browser.open('about:blank', {
        workload: site.manager,
        governance: site.manager,
      })
      faults = faultsOf(page)
    })
    after(() => page.close())
    for (const [path, addresses] of walked)
      test(`${path} has no fault, no barrier, and a way for the terminal`, async () => {
        const toldBefore = faults.length
        for (const [index, href] of addresses(site).entries()) {
          await page.setViewportSize({ width: 1280, height: 800 })
          // Each page as one who types its address sees it, its tabs as one who clicks on them.
          if (index === 0) await page.goto(program.address + href)
          else await follow(page, href)
          await settle(page)
          await checkAccess(page)
          await checkCommands(page, href)
          await checkNarrow(page)
          assert.equal(await page.getByRole('alert').count(), 0, `${href} is refused`)
          assert.deepEqual(faults.slice(toldBefore), [], href)
        }
      })
  })
}

function walkAsGuest(walked: Walked): void {
  let page: Page
  describe('who may do little', { skip }, () => {
    before(async () => {
      page = await browser.open(program.address, {
        workload: site.guest,
        governance: site.governanceGuest,
      })
      await settle(page)
    })
    after(() => page.close())
    for (const [path, addresses] of walked)
      test(`${path} offers a guest only what a guest may do, and says why`, async () => {
        for (const href of addresses(site)) {
          await follow(page, href)
          await settle(page)
          const offered = (await namesOf(page, 'not([aria-disabled=true]):enabled')).filter(
            (name) => !HARMLESS.some((one) => one.test(name)),
          )
          assert.deepEqual(offered, [], `${href} offers this`)
          const silent = 'is([aria-disabled=true]):not([aria-describedby]):not([title])'
          assert.deepEqual(await namesOf(page, silent), [], `${href} does not say why not`)
        }
      })
  })
}

/** What the browser tells of faults, in the order it tells them. */
function faultsOf(page: Page): readonly string[] {
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      faults.push(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', ({ message }) => faults.push(message))
  return faults
}

/** The one part of the pages for which there is no command. */
const WITHOUT_COMMAND = [paths.organization(ORGANIZATION, 'tag-keys')]

/** The manual of the command line names every command; its own tests hold it to that. */
const MANUAL = readFileSync(
  join(import.meta.dirname, '../../../docs/reference/cli/README.md'),
  'utf8',
)
const COMMANDS = Array.from(MANUAL.matchAll(/`([a-z][a-z-]*(?: [a-z][a-z-]*)*)/g), ([, name]) =>
  String(name),
)

/** CLI & API: a command that exists, and a request. */
async function checkCommands(page: Page, href: string): Promise<void> {
  const lines = page.locator('.command-line .command code')
  const texts = await lines.allTextContents()
  assert.match(texts.at(-1) ?? '', /^curl .*http/, `${href} shows no request`)
  if (WITHOUT_COMMAND.includes(href)) return
  const [name = '', ...words] = (texts.at(-2) ?? '').split(' ')
  assert.equal(name, 'reeve', `${href} shows no command`)
  const line = words.join(' ')
  const isKnown = COMMANDS.some((command) => `${line} `.startsWith(`${command} `))
  assert.ok(isKnown, `${href} shows ${line}, which is no command`)
}

/** What anybody may press: it changes nothing on the server. */
const HARMLESS = [
  /^Copy/,
  /^Download/,
  /^(Pause|Clear|Resume)/,
  /^Try again$/,
  /^Sign (in|out)/,
  /^(Show|Hide) values$/,
  /^(Cancel|Close)$/,
  /^Discard draft$/,
  /^Open in the editor$/,
  /new (allocations|evaluations): show them$/,
]

/** What the buttons of the page say that fit. */
async function namesOf(page: Page, which: string): Promise<readonly string[]> {
  const names: unknown = await page.evaluate(
    `[...document.querySelectorAll('#main button:${which}')].map((one) =>
      one.textContent.trim() || one.title || one.getAttribute('aria-label') || '?')`,
  )
  return Array.isArray(names) ? names.map(String) : []
}
