import { ConnectionError } from '@reeve/sdk'
import { lazy, type ComponentType, type LazyExoticComponent } from 'react'

/** Loads a component on first rendering. `ErrorBoundary` handles failed loads. */
export function lazyComponent<Props>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => {
    try {
      return { default: await load() }
    } catch (cause) {
      throw new ConnectionError({
        reason: 'unreachable',
        address: window.location.origin,
        message: 'The code of this page could not be loaded.',
        cause,
      })
    }
  })
}
