import { FitAddon } from '@xterm/addon-fit'
import { Terminal as Screen, type ITheme } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import type { Allocation } from '@reeve/contract'
import { ExecError, type ExecSession } from '@reeve/sdk'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { describeError } from '../../components/errors.ts'
import { useSession } from '../../session/session.tsx'

interface TerminalProps {
  readonly allocation: Allocation
  readonly task: string
  readonly command: readonly string[]
  readonly onEnd: () => void
}

type Phase = 'connecting' | 'open' | 'ended'

/** Lines of the scrollback buffer. */
const SCROLLBACK = 5_000

/** A terminal connected to a command inside a task. */
export function Terminal({ allocation, task, command, onEnd }: TerminalProps) {
  const { api } = useSession()
  const container = useRef<HTMLDivElement>(null)
  const [phase, setPhase] = useState<Phase>('connecting')
  const [endMessage, setEndMessage] = useState('')
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
    connectStreams(screen, session)
    for await (const bytes of session.stdout) screen.write(bytes)
    const code = await session.exit
    setEndMessage(`The command ended with exit code ${code}.`)
  })
  const end = useEffectEvent(() => {
    setPhase('ended')
    onEnd()
  })
  useEffect(() => {
    const { current: parent } = container
    if (parent === null) return undefined
    const abortController = new AbortController()
    const { screen, dispose } = openScreen(parent)
    run(screen, abortController.signal)
      .catch((error: unknown) => setEndMessage(endReason(error)))
      .finally(() => {
        if (!abortController.signal.aborted) end()
      })
    return () => {
      abortController.abort()
      dispose()
    }
  }, [])
  return (
    <>
      <div
        ref={container}
        className="terminal-screen"
        role="group"
        aria-label={`Terminal in ${task}`}
      />
      <p className="quiet" role="status">
        {phase === 'connecting' && 'Connecting…'}
        {phase === 'open' && `Connected to ${task}. `}
        {phase === 'ended' && `${endMessage} `}
        <kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>↑</kbd> leaves the terminal.
      </p>
    </>
  )
}

function endReason(error: unknown): string {
  if (error instanceof ExecError)
    return `The session ended: ${error.reason === '' ? 'the connection was lost' : error.reason}.`
  const { title, text } = describeError(error)
  return `${title} ${text}`
}

/** Sends input and resizes of the terminal to the command. */
function connectStreams(screen: Screen, session: ExecSession): void {
  const send = (data: string | Uint8Array) => {
    // Writes fail once the session has ended; the loop over its output reports the end.
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

/** The terminal is dark in both themes, because programs expect a dark background. */
function themeOf(parent: HTMLElement): ITheme {
  const { backgroundColor, color } = getComputedStyle(parent)
  return { background: backgroundColor, foreground: color, cursor: color }
}
