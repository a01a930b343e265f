import { useQueryClient } from '@tanstack/react-query'
import type { Event } from '@reeve/contract'
import {
  createContext,
  use,
  useEffect,
  useEffectEvent,
  useMemo,
  useSyncExternalStore,
  type ReactNode,
} from 'react'
import { useSession } from '../session/session.tsx'
import { LiveFeed, type LiveStatus } from './live-feed.ts'

/** After a longer absence it is cheaper to read what is shown than all that happened. */
const RESUMED_MS_MAX = 60_000

const LiveContext = createContext<LiveFeed | undefined>(undefined)

/** One event stream for all pages of the tab; another one when the token changes. */
export function LiveProvider({ children }: { readonly children: ReactNode }) {
  const { api } = useSession()
  const queries = useQueryClient()
  const feed = useMemo(() => new LiveFeed(api, queries), [api, queries])
  useEffect(() => {
    feed.start()
    // A browser opens six connections to a server, for all its tabs: those that nobody looks at
    // must not hold them.
    let hiddenAtMs = 0
    const look = () => {
      feed.stop()
      const nowMs = performance.now()
      if (document.visibilityState === 'hidden') hiddenAtMs = nowMs
      else if (nowMs - hiddenAtMs < RESUMED_MS_MAX) feed.start()
      else feed.restart()
    }
    document.addEventListener('visibilitychange', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
      feed.stop()
    }
  }, [feed])
  return <LiveContext value={feed}>{children}</LiveContext>
}

function useFeed(): LiveFeed {
  const feed = use(LiveContext)
  if (feed === undefined) throw new Error('a page is drawn outside of the live feed')
  return feed
}

export function useLiveStatus(): LiveStatus {
  const feed = useFeed()
  return useSyncExternalStore(
    (listener) => feed.onStatus(listener),
    () => feed.status,
  )
}

/** Calls back with what happened, at most four times a second. */
export function useEventBatch(onBatch: (events: readonly Event[]) => void): void {
  const feed = useFeed()
  const told = useEffectEvent(onBatch)
  useEffect(() => feed.onBatch((events) => told(events)), [feed])
}
