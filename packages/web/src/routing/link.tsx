import type { AnchorHTMLAttributes, MouseEvent, ReactNode, Ref } from 'react'
import { navigate } from './location.ts'
import { preload } from './preload.ts'

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  /** Made by a function of `paths.ts`. */
  readonly href: string
  readonly children: ReactNode
  readonly ref?: Ref<HTMLAnchorElement>
}

/** A link within the pages: a real one, so that it opens in a new tab, copies and is read out. */
export function Link({ href, onClick, children, ...rest }: LinkProps) {
  const go = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event)
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey
    if (event.defaultPrevented || !isPlain || event.altKey) return
    event.preventDefault()
    navigate(href)
  }
  const warm = () => preload(href)
  return (
    <a href={href} onClick={go} onPointerEnter={warm} onFocus={warm} {...rest}>
      {children}
    </a>
  )
}
