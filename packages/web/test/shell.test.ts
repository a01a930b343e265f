import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkAccess, checkNarrow, noBrowser, settle } from './browser.ts'
import { visitProgram } from './visit.ts'

const visit = visitProgram()

test('the root leads to the jobs, and an empty list teaches', { skip: noBrowser }, async () => {
  const page = await visit.browser.open(visit.program.address)
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  await page.getByText('reeve job run').first().waitFor()
  assert.equal(page.url(), visit.here('/jobs'))
  assert.equal(await page.title(), 'Jobs · Reeve')
  await checkAccess(page)
  await page.close()
})

test('the palette finds pages and is left with Escape', { skip: noBrowser }, async () => {
  const page = await visit.browser.open(visit.here('/jobs'))
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  await page.keyboard.press('Control+k')
  const field = page.getByRole('combobox', { name: 'A page, a name' })
  await field.fill('sess')
  await page.getByText('No matches').waitFor()
  await field.fill('')
  await checkAccess(page)
  await page.keyboard.press('Escape')
  await field.waitFor({ state: 'detached' })
  await page.close()
})

test('a window gives the focus back to what opened it', { skip: noBrowser }, async () => {
  const page = await visit.browser.open(visit.here('/node-pools'))
  const make = page.getByRole('button', { name: 'New node pool…' })
  await make.focus()
  for (const key of ['Enter', 'Escape']) await page.keyboard.press(key)
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'New node pool…')
  await page.close()
})

test('a list keeps the names, however narrow it is', { skip: noBrowser }, async () => {
  const page = await visit.browser.open(visit.here('/nodes'))
  const head = page.getByRole('columnheader', { name: 'Node', exact: true })
  for (const width of [1_440, 1_100, 1_024, 900, 821, 820, 390]) {
    await page.setViewportSize({ width, height: 800 })
    const room = (await head.boundingBox())?.width ?? 0
    assert.ok(room >= 150, `${room} px at ${width}`)
  }
  await page.close()
})

test('the keys are shown with ?, and g j goes to the jobs', { skip: noBrowser }, async () => {
  const page = await visit.browser.open(visit.here('/sign-in'))
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
  await checkAccess(page)
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await checkAccess(page)
  await page.keyboard.press('Escape')
  await page.keyboard.press('g')
  await page.keyboard.press('j')
  await page.waitForURL('**/ui/jobs')
  await page.close()
})

test('without access control the browser has nothing to complain of', { skip: noBrowser }, () =>
  visit.browser.within({}, async (page) => {
    const faults: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning')
        faults.push(`${message.text()} ${message.location().url}`)
    })
    const secret = `#token=${visit.program.governanceToken}`
    for (const path of ['/jobs', '/access/tokens', '/organizations', `/sign-in${secret}`]) {
      await page.goto(visit.here(path))
      await settle(page)
    }
    await page.waitForURL('**/ui/jobs')
    await page.getByRole('link', { name: 'Organizations' }).click()
    await page.getByText('No organizations yet').waitFor()
    assert.deepEqual(faults, [])
  }),
)

test('what loads long is said after a moment, in full strength', { skip: noBrowser }, () =>
  visit.browser.within({}, async (page) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await page.route(/\/v1\/jobs/, async (route) => {
      await promise
      await route.continue()
    })
    await page.addInitScript(WATCH_LOADING)
    await page.goto(visit.here('/jobs'))
    await page.getByText('Loading the jobs…').waitFor()
    assert.deepEqual(await page.evaluate('look()'), ['hidden 1', 'visible 1'])
    resolve()
    await settle(page)
  }),
)

/** How what loads has looked so far: whether it was seen, and how strongly. */
const WATCH_LOADING = `
  const looks = []
  globalThis.look = () => {
    for (const one of document.querySelectorAll('.loading')) {
      const { visibility, opacity } = getComputedStyle(one)
      const seen = visibility + ' ' + opacity
      if (!looks.includes(seen)) looks.push(seen)
    }
    return looks
  }
  const frame = () => {
    look()
    requestAnimationFrame(frame)
  }
  new MutationObserver(look).observe(document, { childList: true, subtree: true })
  frame()
`

test('a page that does not exist says so', { skip: noBrowser }, async () => {
  const page = await visit.browser.open(visit.here('/nowhere/at/all'))
  await page.getByText('Page not found').waitFor()
  await page.close()
})

test(
  'on a narrow screen the pages are behind a button, and nothing is cut off',
  { skip: noBrowser },
  async () => {
    const page = await visit.browser.open(visit.here('/jobs'), { width: 390 })
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
    const width: unknown = await page.evaluate('document.documentElement.scrollWidth')
    assert.equal(width, 390)
    await page.getByRole('button', { name: 'Pages' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).getByText('Submit job').click()
    await page.getByRole('heading', { name: 'Submit job', level: 1 }).waitFor()
    await checkAccess(page)
    await page.close()
  },
)

test('the theme is switched by hand and kept', { skip: noBrowser }, async () => {
  const page = await visit.browser.open(visit.here('/jobs'))
  await page.getByRole('button', { name: /^Theme: system/ }).click()
  await page.getByRole('button', { name: /^Theme: light/ }).click()
  const theme = () => page.evaluate('document.documentElement.dataset.theme')
  assert.equal(await theme(), 'dark')
  await page.reload()
  await page.getByRole('button', { name: /^Theme: dark/ }).click()
  assert.equal(await theme(), undefined)
  await page.close()
})

const FULL_DISK =
  'The disk that holds the data directory /data is full (while writing: ENOSPC). Free space on it.'
const LITTLE_MEMORY = "memory runs short: 81 % of the server's memory are used; delete what you can"
const LOST_COMMITS =
  '2 acknowledged commits are missing. Writes are refused. Run "reeve operator database accept-loss".'

const banners = [
  { status: 500, isWell: false, message: FULL_DISK, title: 'The server rejects changes.' },
  { status: 500, isWell: false, message: LOST_COMMITS, title: 'The server rejects changes.' },
  { status: 200, isWell: true, message: LITTLE_MEMORY, title: 'The server is short of memory.' },
]

for (const { status, isWell, message, title } of banners)
  test(`a banner says what the server reports: ${message}`, { skip: noBrowser }, () =>
    visit.browser.within({}, async (page) => {
      const json = { server: { ok: isWell, message } }
      await page.route('**/v1/agent/health**', (route) => route.fulfill({ status, json }))
      await page.goto(visit.here('/node-pools'))
      const banner = page.getByRole('complementary', { name: 'Server status' })
      await banner.getByText(title).waitFor()
      await banner.getByText(message).waitFor()
      await settle(page)
      await checkAccess(page)
      await checkNarrow(page)
    }),
  )

test('a banner compares the clocks, and is not there while all is well', { skip: noBrowser }, () =>
  visit.browser.within({}, async (page) => {
    const banner = page.getByRole('complementary', { name: 'Server status' })
    const answered = page.waitForResponse('**/v1/agent/health**')
    await page.goto(visit.here('/node-pools'))
    await (await answered).finished()
    await settle(page)
    assert.equal(await banner.count(), 0)
    await page.clock.install({ time: Date.now() + 3_600_000 })
    await page.reload()
    await banner.getByText(/of the server are \d{4} s apart/).waitFor()
  }),
)
