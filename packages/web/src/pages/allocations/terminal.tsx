import { FitAddon } from '@xterm/addon-fit'
import { Terminal as Screen, type ITheme } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import type { Allocation } from '@reeve/contract'
import { ExecError, type ExecSession } from '@reeve/sdk'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { describeFailure } from '../../parts/describe-failure.ts'
import { useSession } from '../../session/session.tsx'

interface TerminalProps {
  readonly allocation: Allocation
  readonly task: string
  readonly command: readonly string[]
  readonly onEnd: () => void
}

type Phase = 'connecting' | 'open' | 'ended'

/** Lines that can be scrolled back to. */
const SCROLLBACK = 5_000

/** A terminal whose other end is a command inside a task. */
export function Terminal({ allocation, task, command, onEnd }: TerminalProps) {
  const { api } = useSession()
  const place = useRef<HTMLDivElement>(null)
  const [phase, setPhase] = useState<Phase>('connecting')
  const [ending, setEnding] = useState('')
  const run = useEffectEvent(async (screen: Screen, signal: AbortSignal) => {
    const size = { height: screen.rows, width: screen.cols }
    const session = await api.exec({
      allocId: allocation.ID,
      namespace: allocation.Namespace,
      task,
      command,
      tty: true,
      size,
      signal,
    })
    if (signal.aborted) return session.close()
    setPhase('open')
    join(screen, session)
    for await (const bytes of session.stdout) screen.write(bytes)
    const code = await session.exit
    setEnding(`The command ended with exit code ${code}.`)
  })
  const end = useEffectEvent(() => {
    setPhase('ended')
    onEnd()
  })
  useEffect(() => {
    const { current: parent } = place
    if (parent === null) return undefined
    const stopper = new AbortController()
    const { screen, dispose } = openScreen(parent)
    run(screen, stopper.signal)
      .catch((error: unknown) => setEnding(wordsOf(error)))
      .finally(() => {
        if (!stopper.signal.aborted) end()
      })
    return () => {
      stopper.abort()
      dispose()
    }
  }, [])
  return (
    <>
      <div
        ref={place}
        className="terminal-screen"
        role="group"
        aria-label={`Terminal in ${task}`}
      />
      <p className="quiet" role="status">
        {phase === 'connecting' && 'Connecting…'}
        {phase === 'open' && `Connected to ${task}. `}
        {phase === 'ended' && `${ending} `}
        <kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>↑</kbd> leaves the terminal.
      </p>
    </>
  )
}

function wordsOf(error: unknown): string {
  if (error instanceof ExecError)
    return `The session ended: ${error.reason === '' ? 'the connection was lost' : error.reason}.`
  const { title, text } = describeFailure(error)
  return `${title} ${text}`
}

/** What is typed goes to the command, and so does the size of the window. */
function join(screen: Screen, session: ExecSession): void {
  const send = (data: string | Uint8Array) => {
    // A session that has ended takes nothing more; its end is told by its output.
    session.stdin.write(data).catch(() => undefined)
  }
  screen.onData(send)
  screen.onBinary((text) => send(Uint8Array.from(text, (char) => char.charCodeAt(0))))
  screen.onResize(({ rows, cols }) => session.resize({ height: rows, width: cols }))
}

interface OpenScreen {
  readonly screen: Screen
  readonly dispose: () => void
}

function openScreen(parent: HTMLElement): OpenScreen {
  const screen = new Screen({
    theme: themeOf(parent),
    fontFamily: getComputedStyle(parent).fontFamily,
    fontSize: 13,
    scrollback: SCROLLBACK,
    cursorBlink: false,
  })
  const fit = new FitAddon()
  screen.loadAddon(fit)
  screen.open(parent)
  fit.fit()
  screen.focus()
  // WCAG 2.1.2: a terminal takes Tab and Escape for itself, so there must be another way out.
  screen.attachCustomKeyEventHandler((event) => {
    if (!event.ctrlKey || !event.shiftKey || event.key !== 'ArrowUp') return true
    document.querySelector<HTMLElement>('.terminal-bar button')?.focus()
    return false
  })
  const observer = new ResizeObserver(() => fit.fit())
  observer.observe(parent)
  return {
    screen,
    dispose: () => {
      observer.disconnect()
      screen.dispose()
    },
  }
}

/** A terminal is dark whatever the page is: programs choose their colours for that. */
function themeOf(parent: HTMLElement): ITheme {
  const { backgroundColor, color } = getComputedStyle(parent)
  return { background: backgroundColor, foreground: color, cursor: color }
}
