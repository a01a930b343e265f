import { useEffect, useRef, useState } from 'react'
import type { TextStream } from '../data/text-stream.ts'
import { ErrorMessage } from './error-message.tsx'

interface LogViewProps {
  /** Accessible name of the log. */
  readonly label: string
  readonly stream: TextStream
  /** Shows only lines that contain this text, and highlights it. */
  readonly search: string
}

/** A live log. The view follows the end unless the user scrolls up. */
export function LogView({ label, stream, search }: LogViewProps) {
  const box = useRef<HTMLDivElement>(null)
  const [isAtEnd, setAtEnd] = useState(true)
  const { log, isOpen, error, retry } = stream
  const searchText = search.toLowerCase()
  const lines =
    searchText === ''
      ? log.lines
      : log.lines.filter((line) => line.toLowerCase().includes(searchText))
  useEffect(() => {
    if (isAtEnd) box.current?.scrollTo(0, box.current.scrollHeight)
  }, [isAtEnd, lines])
  const onScroll = () => {
    const { current } = box
    if (current === null) return
    setAtEnd(current.scrollHeight - current.scrollTop - current.clientHeight < 24)
  }
  return (
    <>
      {error !== undefined && <ErrorMessage error={error} retry={retry} />}
      <div ref={box} className="log" role="log" aria-label={label} tabIndex={0} onScroll={onScroll}>
        {log.dropped > 0 && <p className="quiet">{log.dropped} earlier lines are not shown.</p>}
        {lines.map((line, index) => (
          <div key={log.dropped + index}>{highlightMatch(line, searchText)}</div>
        ))}
        {lines.length === 0 && (
          <p className="quiet">{isOpen ? 'Waiting for the first line…' : 'No output.'}</p>
        )}
      </div>
    </>
  )
}

function highlightMatch(line: string, searchText: string) {
  const matchIndex = searchText === '' ? -1 : line.toLowerCase().indexOf(searchText)
  if (matchIndex === -1) return line === '' ? ' ' : line
  return (
    <>
      {line.slice(0, matchIndex)}
      <mark>{line.slice(matchIndex, matchIndex + searchText.length)}</mark>
      {line.slice(matchIndex + searchText.length)}
    </>
  )
}
